/**
 * The form of a cursor: a version, which leaves room for other forms, and the last id that the client has seen, as an
 * int64 in hex. Every text of this form is a valid cursor. Opaque to clients. Never expires.
 */
export const CURSOR_PATTERN = '^v1\\.[0-9a-f]{16}$';

const FORM = new RegExp(CURSOR_PATTERN);

/** The cursor of the page that begins after this id. */
export function encodeCursor(after: bigint): string {
  return `v1.${BigInt.asUintN(64, after).toString(16).padStart(16, '0')}`;
}

/** The id in a cursor, or `undefined` when the form is wrong. */
export function decodeCursor(cursor: string): bigint | undefined {
  return FORM.test(cursor) ? BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`)) : undefined;
}
