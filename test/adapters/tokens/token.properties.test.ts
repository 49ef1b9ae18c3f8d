import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digestOf, idOf, mintKey } from '../../../src/adapters/tokens/token.ts';
import { API_KEY_ID } from '../../../src/domain/api-key.ts';
import { text } from '../../properties/arbitraries.ts';
import { holds } from '../../properties/holds.ts';

// Their randomness is the system's, so a failure prints the token.
const MINTED = Array.from({ length: 50 }, mintKey);
const minted = fc.constantFrom(...MINTED);

it('a token has its id, its digest and the published form', async () => {
  for (const { id, digest, token } of MINTED) {
    expect(token).toMatch(/^pets_[0-9a-f]{16}_[0-9A-Za-z]{49}$/);
    expect([idOf(token), digestOf(token)]).toStrictEqual([id, digest]);
    expect(digest).toBe(createHash('sha256').update(token, 'utf8').digest('hex'));
  }
  expect(new Set(MINTED.flatMap(({ id, token }) => [id, token])).size).toBe(2 * MINTED.length);
});

it('a token with a typing error has no id', async () => {
  const character = fc.oneof(
    fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_'.split('')),
    text,
  );
  await holds(
    fc.property(minted, fc.nat(71), character, ({ token }, at, other) => {
      const wrong = token.slice(0, at) + other + token.slice(at + 1);
      const swapped =
        token.slice(0, at) +
        token
          .slice(at, at + 2)
          .split('')
          .toReversed()
          .join('') +
        token.slice(at + 2);
      for (const typed of [wrong, swapped]) {
        expect(idOf(typed)).toBe(typed === token ? idOf(token) : undefined);
      }
    }),
    1_000,
  );
});

it('the id of any text is a valid id or missing', async () => {
  await holds(
    fc.property(text, (token) => {
      expect(idOf(token) ?? '0'.repeat(16)).toMatch(API_KEY_ID);
    }),
    300,
  );
});
