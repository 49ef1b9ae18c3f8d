/**
 * The form of a cursor: a version, so that a later form can be told from this one, and the int64 of the last id that
 * has been seen. Every text of this form is a cursor. Opaque to clients, and good for ever.
 */
export const CURSOR_PATTERN = '^v1\\.[0-9a-f]{16}$';

const FORM = new RegExp(CURSOR_PATTERN);

/** The cursor of the page that begins after this id. */
export function encodeCursor(after: bigint): string {
  return `v1.${BigInt.asUintN(64, after).toString(16).padStart(16, '0')}`;
}

/** The id in a cursor, or `undefined` when it is not of the form. */
export function decodeCursor(cursor: string): bigint | undefined {
  return FORM.test(cursor) ? BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`)) : undefined;
}
