import { type NewPet, petTexts } from '../../domain/pet.ts';

// The reasons for the checksums: docs/explanation/a-write-on-sqlite.md#the-table-and-its-statements.

/** Like the next two functions, returns an unsigned integer of 32 bits. */
export function petChecksum(id: bigint, pet: NewPet): number {
  const texts = petTexts(pet);
  let text = `${id} ${texts[1]} ${texts[2]} ${texts[0]}`;
  for (let index = 3; index < texts.length; index++) text += ` ${texts[index]}`;
  return fnv1a(text);
}

/** @param key in hex, as `fingerprint` is */
export function idempotencyChecksum(id: bigint, key: string, fingerprint: string): number {
  return fnv1a(`${id} ${key} ${fingerprint}`);
}

const COLUMNS_IN_FIRST_RELEASE = 10;

/** @param columns in the order in which releases added them. A BLOB is in hex */
export function apiKeyChecksum(columns: readonly (string | number | bigint | null)[]): number {
  const checked = columns.filter((value, index) => index < COLUMNS_IN_FIRST_RELEASE || value !== null);
  return fnv1a(checked.join('\n'));
}

/** An operator sets this value after changing a row by hand. */
const UNCHECKED = -1;

/** @param expected `undefined` where there must be no checksum */
export function isChecksum(stored: unknown, expected: number | undefined): boolean {
  if (expected === undefined) return stored === null;
  return typeof stored === 'bigint' && (Number(stored) === expected || Number(stored) === UNCHECKED);
}

/** For text other than 64 hex digits, the BLOB is shorter, and the table refuses it. */
export function hashToBlob(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

/** Returns `undefined` for NULL. A damaged file may hold other types, which the caller refuses. */
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
