import { expect, it } from 'vitest';
import { digestOf, idOf, mintKey } from '../../../src/adapters/tokens/token.ts';

/** The pattern for secret scanners in docs/how-to/manage-keys.md. */
const SCANNER_PATTERN = /pets_[0-9a-f]{16}_[0-9A-Za-z]{49}/;

/** The checksums and the digests were computed with Python's zlib and hashlib. */
const KEYS = [
  {
    id: '0123456789abcdef',
    token: `pets_0123456789abcdef_${'0'.repeat(43)}1gmWBv`,
    digest: 'c751e26a176987b3eb2839a9fa4130ef932ae21e5317bf88ba14149823998741',
  },
  {
    id: 'fedcba9876543210',
    token: 'pets_fedcba9876543210_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg3SDlY5',
    digest: '85813c0f6d042f3be41ba1ed2bd06961be2825c9087623c65a3148a64bc8232b',
  },
  {
    // The greatest secret, 2^256 - 1.
    id: '0123456789abcdef',
    token: 'pets_0123456789abcdef_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp14XKBQh',
    digest: 'ba151221620097785557dc5874fe977e4699a14eee6f47b57a968aacb380a4b8',
  },
  {
    // The checksum, 000OSW, begins with zeros.
    id: '0123456789abcdef',
    token: 'pets_0123456789abcdef_00000000000000000000000000000000000000006ZK000OSW',
    digest: '6fa5a94254d2e0703e47e124dfdc8ee57f4e8be86640a7a9a146073fe60f47ee',
  },
] as const;

it.each(KEYS)('idOf and digestOf accept the token $token', ({ id, token, digest }) => {
  expect(idOf(token)).toBe(id);
  expect(digestOf(token)).toBe(digest);
});

it.each([
  ['it is empty', ''],
  ['a line feed follows', `${KEYS[1].token}\n`],
  ['it has the checksum of another token', KEYS[1].token.slice(0, -6) + KEYS[0].token.slice(-6)],
  ['it is repeated 10,000 times', KEYS[1].token.repeat(10_000)],
  // The following tokens have valid checksums, which were computed with Python's zlib.
  ['its id is in upper case', 'pets_0123456789ABCDEF_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0n2DUo'],
  ['its id is too short', 'pets_0123456789abcde_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0VuoqK'],
  ['its secret is too long', 'pets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg019lSwu'],
  ['its secret is too short', 'pets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef1126vM'],
  ['its secret has a hyphen', 'pets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef-0Rszkc'],
  ['it begins with cats_', 'cats_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg4DF61p'],
  ['an x precedes it', 'xpets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg3CK7Y2'],
])('a token is invalid if %s', (_, token) => {
  expect(idOf(token)).toBeUndefined();
});

const mintedKeys = Array.from({ length: 1000 }, () => mintKey());

it('mintKey returns a token of the published form, with its id and its digest', () => {
  for (const key of mintedKeys) {
    const { id, digest, token } = key;
    expect(key).toStrictEqual({ id, digest, token });
    expect(SCANNER_PATTERN.exec(token)?.[0]).toBe(token);
    expect([token.slice(5, 21), idOf(token), digestOf(token)]).toStrictEqual([id, id, digest]);
  }
});

it('in minted keys, no position of the secret or of the id always has the same character', () => {
  // By chance, a few of the 62 digits can be missing at a position in 1,000 tokens, but never ten of the digits.
  for (let position = 0; position < 43; position++) {
    expect(new Set(mintedKeys.map(({ token }) => token[22 + position])).size).toBeGreaterThan(52);
  }
  for (let position = 0; position < 16; position++) {
    expect(new Set(mintedKeys.map(({ id }) => id[position])).size).toBe(16);
  }
});
