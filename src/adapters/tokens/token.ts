import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyMint, MintedKey } from '../../application/ports/key-mint.ts';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 62^43 is just above 2^256. */
const SECRET_LENGTH = 43;
const SECRET_BYTES = 32;
/** 62^6 is above 2^32. */
const CHECKSUM_LENGTH = 6;
const ID_BYTES = 8;

/**
 * The form of a key: `pets_<id>_<secret><checksum>`, in letters, digits and underscores, which a b64token may all have
 * (RFC 6750, section 2.1). The prefix, the length and the checksum let a scanner find it in a leak without a doubt.
 */
const FORM = /^pets_([0-9a-f]{16})_[0-9A-Za-z]{49}$/;

/** A key with 256 bits that nobody can guess, and an id of 64 bits. */
export function mintKey(): MintedKey {
  const id = randomBytes(ID_BYTES).toString('hex');
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  const body = `pets_${id}_${secret}`;
  const token = body + checksum(body);
  return { id, digest: digestOf(token), token };
}

export const keyMint: KeyMint = { mint: async () => mintKey() };

/** The id in a key; `undefined` when the text is not of the form or its checksum is wrong. */
export function idOf(token: string): string | undefined {
  const id = FORM.exec(token)?.[1];
  if (id === undefined || checksum(token.slice(0, -CHECKSUM_LENGTH)) !== token.slice(-CHECKSUM_LENGTH)) {
    return undefined;
  }
  return id;
}

/** SHA-256 as 64 lower-case hex digits. A key is random enough to need no salt and no slow hash. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'hex');
}

/** CRC-32 of everything before it. Against slips and false alarms, not against attackers. */
function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_LENGTH);
}

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest /= 62n) digits = DIGITS[Number(rest % 62n)] + digits;
  return digits;
}
