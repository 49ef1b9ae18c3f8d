import { expect, it } from 'vitest';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { mintKey } from '../../../src/adapters/tokens/token.ts';
import { eitherTokenVerifier } from '../../../src/application/keys/token-verifiers.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { TokenVerifier } from '../../../src/application/ports/token-verifier.ts';
import { tokenVerifierContract } from '../../contracts/token-verifier.ts';

const TOM = { label: 'tom', token: 'tom-0123456789abcdef' };

const AWAY: TokenVerifier = {
  verify: async () => {
    throw new StorageUnavailable('away');
  },
};

function minted(labels: readonly string[]) {
  const keys = labels.map((label) => ({ label, token: mintKey().token }));
  return { known: new InMemoryTokenVerifier(keys.map(knownKey)), tokens: keys.map(({ token }) => token) };
}

const NOTHING = new InMemoryTokenVerifier([]);

tokenVerifierContract('either, with the keys in the first', async (labels) => {
  const { known, tokens } = minted(labels);
  return { verifier: eitherTokenVerifier(known, NOTHING), tokens };
});

tokenVerifierContract('either, with the keys in the second', async (labels) => {
  const { known, tokens } = minted(labels);
  return { verifier: eitherTokenVerifier(NOTHING, known), tokens };
});

it('does not ask the second about a token that the first accepts', async () => {
  const verifier = eitherTokenVerifier(new InMemoryTokenVerifier([knownKey(TOM)]), AWAY);
  expect((await verifier.verify(TOM.token))?.label).toBe('tom');
});

it('rejects when the second does', async () => {
  const verifier = eitherTokenVerifier(NOTHING, AWAY);
  await expect(verifier.verify(TOM.token)).rejects.toThrow(StorageUnavailable);
});
