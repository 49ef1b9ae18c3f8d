import fc from 'fast-check';
import { expect, it } from 'vitest';
import { idOf, mintKey } from '../../../src/adapters/tokens/token.ts';
import { text } from '../../../proof/properties/arbitraries.ts';
import { holds } from '../../../proof/properties/holds.ts';

// The random bytes of a token come from the system, so no seed repeats them. A failed test prints the token instead.
const MINTED_KEYS = Array.from({ length: 50 }, mintKey);
const mintedKey = fc.constantFrom(...MINTED_KEYS);

it('a token with one wrong character, or with two swapped characters, has no id', async () => {
  const character = fc.oneof(
    fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_'.split('')),
    text,
  );
  await holds(
    fc.property(mintedKey, fc.nat(71), character, ({ token }, at, replacement) => {
      const replaced = token.slice(0, at) + replacement + token.slice(at + 1);
      const swapped =
        token.slice(0, at) +
        token
          .slice(at, at + 2)
          .split('')
          .toReversed()
          .join('') +
        token.slice(at + 2);
      for (const typed of [replaced, swapped]) {
        expect(idOf(typed)).toBe(typed === token ? idOf(token) : undefined);
      }
    }),
    1_000,
  );
});
