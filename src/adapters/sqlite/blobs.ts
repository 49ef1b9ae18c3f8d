import type { Idempotency } from '../../application/ports/pet-repository.ts';

/** A SHA-256 hash as a BLOB. Text other than 64 hex digits gives a shorter BLOB, which the table refuses. */
export function hashToBlob(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

/** The values of the columns `idempotency_key` and `fingerprint`. */
export function idempotencyToBlobs(
  idempotency: Idempotency | undefined,
): readonly [key: Buffer | null, fingerprint: Buffer | null] {
  if (idempotency === undefined) return [null, null];
  return [hashToBlob(idempotency.key), hashToBlob(idempotency.fingerprint)];
}

/** The hex digits of a BLOB. A damaged file may hold any other value: it is returned unchanged, and refused later. */
export function blobToHash(value: unknown): unknown {
  return value instanceof Uint8Array ? value.toHex() : value;
}
