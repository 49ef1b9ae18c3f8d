import { expect, it } from 'vitest';
import { digestOf, idOf, mintKey } from '../../../src/adapters/tokens/token.ts';

/** The pattern for secret scanners in docs/how-to/manage-keys.md. */
const SCANNER = /pets_[0-9a-f]{16}_[0-9A-Za-z]{49}/;

/** Computed with Python's zlib and hashlib. */
const KNOWN = [
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
    // Its checksum has a leading zero.
    id: '0123456789abcdef',
    token: 'pets_0123456789abcdef_00000000000000000000000000000000000000006ZK000OSW',
    digest: '6fa5a94254d2e0703e47e124dfdc8ee57f4e8be86640a7a9a146073fe60f47ee',
  },
] as const;

it.each(KNOWN)('a token has an id and a digest: $token', ({ id, token, digest }) => {
  expect(idOf(token)).toBe(id);
  expect(digestOf(token)).toBe(digest);
});

it.each([
  ['empty', ''],
  ['a line feed after', `${KNOWN[1].token}\n`],
  ['the checksum of another token', KNOWN[1].token.slice(0, -6) + KNOWN[0].token.slice(-6)],
  ['very long', KNOWN[1].token.repeat(10_000)],
  // These have valid checksums, computed with Python's zlib.
  ['an id in upper case', 'pets_0123456789ABCDEF_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0n2DUo'],
  ['an id that is too short', 'pets_0123456789abcde_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0VuoqK'],
  ['a secret that is too long', 'pets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg019lSwu'],
  ['a secret that is too short', 'pets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef1126vM'],
  ['another character', 'pets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef-0Rszkc'],
  ['another prefix', 'cats_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg4DF61p'],
  ['something before it', 'xpets_0123456789abcdef_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg3CK7Y2'],
])('a token is invalid: %s', (_, token) => {
  expect(idOf(token)).toBeUndefined();
});

const minted = Array.from({ length: 1000 }, () => mintKey());

it('a minted token has the published form, and comes with its id and digest', () => {
  for (const key of minted) {
    const { id, digest, token } = key;
    expect(key).toStrictEqual({ id, digest, token });
    expect(SCANNER.exec(token)?.[0]).toBe(token);
    expect([token.slice(5, 21), idOf(token), digestOf(token)]).toStrictEqual([id, id, digest]);
  }
});

it('a minted token has no fixed character in its secret or id', () => {
  // One of the 62 digits can be missing at a place by chance, but not ten of them.
  for (let place = 0; place < 43; place++) {
    expect(new Set(minted.map(({ token }) => token[22 + place])).size).toBeGreaterThan(52);
  }
  for (let place = 0; place < 16; place++) {
    expect(new Set(minted.map(({ id }) => id[place])).size).toBe(16);
  }
});
