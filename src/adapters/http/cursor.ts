import { isInt64 } from '../../domain/int64.ts';

/** Leads every cursor, so that a later form can be told from this one. */
const VERSION = 'v1.';

/** The cursor of the page that begins after this id: opaque to clients, good for ever. */
export function encodeCursor(after: bigint): string {
  return VERSION + Buffer.from(after.toString()).toString('base64url');
}

/** The id in a cursor, or `undefined` when {@link encodeCursor} never made it. */
export function decodeCursor(cursor: string): bigint | undefined {
  if (!cursor.startsWith(VERSION)) return undefined;
  const digits = Buffer.from(cursor.slice(VERSION.length), 'base64url').toString('latin1');
  if (!/^-?\d{1,19}$/.test(digits)) return undefined;
  const after = BigInt(digits);
  return isInt64(after) && encodeCursor(after) === cursor ? after : undefined;
}
