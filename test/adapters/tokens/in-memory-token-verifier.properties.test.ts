import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { text } from '../../properties/arbitraries.ts';
import { holds } from '../../properties/holds.ts';

// A header cannot hold a lone surrogate.
const token = text.filter((value) => value.isWellFormed());

it('accepts the known tokens and no other text, in any order of questions', async () => {
  const tokens = fc.uniqueArray(token, { maxLength: 5 });
  const change = fc
    .tuple(fc.nat(4), fc.nat(10), token)
    .map(([index, at, mark]) => (known: readonly string[]) => {
      const one = known[index] ?? '';
      return (one.slice(0, at) + mark + one.slice(at + 1)).toWellFormed();
    });
  const question = fc.oneof(
    change,
    fc.nat(4).map((index) => (known: readonly string[]) => known[index] ?? ''),
    token.map((other) => () => other),
  );
  await holds(
    fc.asyncProperty(tokens, fc.array(question, { maxLength: 20 }), async (known, questions) => {
      const verifier = new InMemoryTokenVerifier(
        known.map((one, n) => knownKey({ label: `key ${n}`, token: one })),
      );
      for (const ask of questions) {
        const asked = ask(known);
        const index = known.indexOf(asked);
        const caller = { id: `key ${index}`, label: `key ${index}`, scopes: ['pets:read', 'pets:write'] };
        expect(await verifier.verify(asked)).toStrictEqual(index === -1 ? undefined : caller);
      }
    }),
    200,
  );
});
