import { expect, it } from 'vitest';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { eitherTokenVerifier } from '../../../src/application/keys/token-verifiers.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { TokenVerifier } from '../../../src/application/ports/token-verifier.ts';

const TOKEN = 'tom-0123456789abcdef';
const TOM = new InMemoryTokenVerifier([knownKey({ label: 'tom', token: TOKEN })]);
const NOBODY = new InMemoryTokenVerifier([]);
const AWAY: TokenVerifier = { verify: () => Promise.reject(new StorageUnavailable('away')) };

it.each([
  ['the first knows, without asking the second', TOM, AWAY],
  ['only the second knows', NOBODY, TOM],
])('accepts a token that %s', async (_, first, second) => {
  expect(await eitherTokenVerifier(first, second).verify(TOKEN)).toMatchObject({ label: 'tom' });
});

it('knows no other token, and rejects when the second does', async () => {
  expect(await eitherTokenVerifier(NOBODY, TOM).verify('another')).toBeUndefined();
  await expect(eitherTokenVerifier(NOBODY, AWAY).verify(TOKEN)).rejects.toThrow(StorageUnavailable);
});
