import fc from 'fast-check';
import { expect, it } from 'vitest';
import { idOf, mintKey } from '../../../src/adapters/tokens/token.ts';
import { text } from '../../../proof/properties/arbitraries.ts';
import { holds } from '../../../proof/properties/holds.ts';

// Their randomness is the system's, so a failure prints the token.
const MINTED = Array.from({ length: 50 }, mintKey);
const minted = fc.constantFrom(...MINTED);

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
