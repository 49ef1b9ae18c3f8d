import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { MintedKey } from '../../application/keys/create-key.ts';
import type { TokenForm } from '../../application/ports/token-verifier.ts';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const SECRET_BYTES = 32;
/** Base 62: 62^43 is above 2^256. */
const SECRET_DIGITS = 43;
/** Base 62: 62^6 is above 2^32. */
const CHECKSUM_DIGITS = 6;
const ID_BYTES = 8;

/** `pets_<id>_<secret><checksum>`, a b64token (RFC 6750, section 2.1): see docs/explanation/keys-and-their-cache.md. */
const FORM = /^pets_([0-9a-f]{16})_[0-9A-Za-z]{49}$/;

export function mintKey(): MintedKey {
  const id = randomBytes(ID_BYTES).toString('hex');
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_DIGITS);
  const body = `pets_${id}_${secret}`;
  const token = body + checksum(body);
  return { id, digest: digestOf(token), token };
}

export function idOf(token: string): string | undefined {
  const id = FORM.exec(token)?.[1];
  return checksum(token.slice(0, -CHECKSUM_DIGITS)) === token.slice(-CHECKSUM_DIGITS) ? id : undefined;
}

/** SHA-256 as 64 lower-case hex digits. 256 random bits need no salt and no slow hash. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'hex');
}

/**
 * The check of an unknown key compares this digest, to take as long as for a known key. No known text has this SHA-256.
 */
const NO_DIGEST = '0'.repeat(64);

export const tokenForm: TokenForm = {
  idOf,
  hasDigest: (token, digest = NO_DIGEST) =>
    timingSafeEqual(Buffer.from(digest), Buffer.from(digestOf(token))),
};

/** The CRC-32 detects typing errors and false alarms of scanners. It does not protect from attacks. */
function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_DIGITS);
}

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest /= 62n) digits = DIGITS[Number(rest % 62n)] + digits;
  return digits;
}
