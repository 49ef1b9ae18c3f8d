import { type NewPet, petTexts } from '../../domain/pet.ts';

// SQLite does not notice a changed byte in the value of a column. Each row has the checksum of its other columns.

/** The checksum of a pet, without its idempotency key. An unsigned integer of 32 bits, like the next two. */
export function petChecksum(id: bigint, pet: NewPet): number {
  const texts = petTexts(pet);
  let text = `${id} ${texts[1]} ${texts[2]} ${texts[0]}`;
  for (let later = 3; later < texts.length; later++) text += ` ${texts[later]}`;
  return fnv1a(text);
}

/**
 * The checksum of the idempotency key of a pet. A list does not read the key, so the key has a checksum of its own.
 *
 * @param key in hex, like the fingerprint
 */
export function idempotencyChecksum(id: bigint, key: string, fingerprint: string): number {
  return fnv1a(`${id} ${key} ${fingerprint}`);
}

/** The columns of the first API keys. */
const FIRST_KEY_COLUMNS = 10;

/** @param columns of an API key, the first ones first; a BLOB in hex. A later one that is NULL changes nothing */
export function apiKeyChecksum(columns: readonly (string | number | bigint | null)[]): number {
  const checked = columns.filter((value, index) => index < FIRST_KEY_COLUMNS || value !== null);
  return fnv1a(checked.join('\n'));
}

/** An operator who changes a row by hand sets its checksum to this. */
const UNCHECKED = -1;

/**
 * Whether a stored checksum is the expected one. A missing one is not: SQLite reads NULL where damage has made a record
 * shorter.
 *
 * @param expected `undefined` where there must be no checksum
 */
export function isChecksum(stored: unknown, expected: number | undefined): boolean {
  if (expected === undefined) return stored === null;
  return typeof stored === 'bigint' && (Number(stored) === expected || Number(stored) === UNCHECKED);
}

/** A SHA-256 hash as a BLOB. Text other than 64 hex digits gives a shorter BLOB, which the table refuses. */
export function hashToBlob(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

/**
 * The hex digits of a BLOB, or `undefined` for NULL. A damaged file may hold any other value: it is returned unchanged,
 * and refused later.
 */
export function blobToHash(value: unknown): unknown {
  return value instanceof Uint8Array ? value.toHex() : (value ?? undefined);
}

/**
 * FNV-1a of the UTF-16 code units. Texts that differ in one unit never have the same checksum. Others have it with a
 * probability of 2^-32. CRC-32 of `node:zlib` takes longer.
 *
 * @see http://www.isthe.com/chongo/tech/comp/fnv/
 */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
