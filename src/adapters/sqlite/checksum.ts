import { type NewPet, petTexts } from '../../domain/pet.ts';

// The reasons for the checksums: docs/explanation/a-write-on-sqlite.md#the-table-and-its-statements.

/** An unsigned integer of 32 bits, like the next two. */
export function petChecksum(id: bigint, pet: NewPet): number {
  const texts = petTexts(pet);
  let text = `${id} ${texts[1]} ${texts[2]} ${texts[0]}`;
  for (let later = 3; later < texts.length; later++) text += ` ${texts[later]}`;
  return fnv1a(text);
}

/** @param key in hex, like the fingerprint */
export function idempotencyChecksum(id: bigint, key: string, fingerprint: string): number {
  return fnv1a(`${id} ${key} ${fingerprint}`);
}

/** The number of columns in the first release. */
const FIRST_KEY_COLUMNS = 10;

/** @param columns in the order in which releases added them, a BLOB in hex */
export function apiKeyChecksum(columns: readonly (string | number | bigint | null)[]): number {
  const checked = columns.filter((value, index) => index < FIRST_KEY_COLUMNS || value !== null);
  return fnv1a(checked.join('\n'));
}

/** An operator sets this value after changing a row by hand. */
const UNCHECKED = -1;

/** @param expected `undefined` where there must be no checksum */
export function isChecksum(stored: unknown, expected: number | undefined): boolean {
  if (expected === undefined) return stored === null;
  return typeof stored === 'bigint' && (Number(stored) === expected || Number(stored) === UNCHECKED);
}

/** Text other than 64 hex digits gives a shorter BLOB, which the table refuses. */
export function hashToBlob(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

/** `undefined` for NULL. The caller refuses other types, which a damaged file may hold. */
export function blobToHash(value: unknown): unknown {
  return value instanceof Uint8Array ? value.toHex() : (value ?? undefined);
}

/** FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/. See "A checksum of a row" in docs/decisions.md. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
