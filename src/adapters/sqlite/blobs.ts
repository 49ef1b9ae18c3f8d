import type { Idempotency } from '../../application/ports/pet-repository.ts';
import type { Pet } from '../../domain/pet.ts';
import { idempotencyChecksum, petChecksum } from './checksum.ts';

/** A SHA-256 hash as a BLOB. Text other than 64 hex digits gives a shorter BLOB, which the table refuses. */
export function hashToBlob(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

/** The values of the columns of a pet, in the order of `ArchivedPetRow`. */
export function toPetValues({ id, name, categoryId, status }: Pet, idempotency: Idempotency | undefined) {
  const checksum = petChecksum(id, { name, categoryId, status });
  if (idempotency === undefined) return [id, name, categoryId, status, checksum, null, null, null] as const;
  const { key, fingerprint } = idempotency;
  const blobs = [hashToBlob(key), hashToBlob(fingerprint)] as const;
  return [
    id,
    name,
    categoryId,
    status,
    checksum,
    ...blobs,
    idempotencyChecksum(id, key, fingerprint),
  ] as const;
}

/** The hex digits of a BLOB. A damaged file may hold any other value: it is returned unchanged, and refused later. */
export function blobToHash(value: unknown): unknown {
  return value instanceof Uint8Array ? value.toHex() : value;
}
