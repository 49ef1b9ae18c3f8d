import { expect, it } from 'vitest';
import { InMemoryTokenVerifier, knownKey } from '../../src/adapters/memory/token-verifier.ts';
import { EitherTokenVerifier } from '../../src/application/either-token-verifier.ts';
import { StorageUnavailable } from '../../src/application/errors.ts';
import type { TokenVerifier } from '../../src/application/ports/token-verifier.ts';
import { tokenVerifierContract } from '../contracts/token-verifier.ts';

const TOM = { label: 'tom', key: 'tom-0123456789abcdef' };

/** Knows every token, or nobody knows what it knows. */
const AWAY: TokenVerifier = {
  verify: async () => {
    throw new StorageUnavailable('away');
  },
};

tokenVerifierContract('either, the keys being in the first', async (keys) => {
  return new EitherTokenVerifier(
    new InMemoryTokenVerifier(keys.map(knownKey)),
    new InMemoryTokenVerifier([]),
  );
});

tokenVerifierContract('either, the keys being in the second', async (keys) => {
  return new EitherTokenVerifier(
    new InMemoryTokenVerifier([]),
    new InMemoryTokenVerifier(keys.map(knownKey)),
  );
});

it('does not ask the second for what the first knows', async () => {
  const verifier = new EitherTokenVerifier(new InMemoryTokenVerifier([knownKey(TOM)]), AWAY);
  expect((await verifier.verify(TOM.key))?.label).toBe('tom');
});

it('says that it cannot know when the second cannot', async () => {
  const verifier = new EitherTokenVerifier(new InMemoryTokenVerifier([]), AWAY);
  await expect(verifier.verify(TOM.key)).rejects.toThrow(StorageUnavailable);
});
