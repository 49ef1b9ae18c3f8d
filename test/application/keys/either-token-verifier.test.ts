import { expect, it } from 'vitest';
import { InMemoryTokenVerifier, toKnownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { eitherTokenVerifier } from '../../../src/application/keys/token-verifiers.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { TokenVerifier } from '../../../src/application/ports/token-verifier.ts';

const TOKEN = 'tom-0123456789abcdef';
const TOM = new InMemoryTokenVerifier([toKnownKey({ label: 'tom', token: TOKEN })]);
const NO_KEYS = new InMemoryTokenVerifier([]);
const UNAVAILABLE: TokenVerifier = { verify: () => Promise.reject(new StorageUnavailable('away')) };

it('eitherTokenVerifier accepts the tokens of two verifiers, and calls the second only if the first rejects the token', async () => {
  const verify = (first: TokenVerifier, second: TokenVerifier, token = TOKEN) =>
    eitherTokenVerifier(first, second).verify(token);
  for (const [first, second] of [[TOM, UNAVAILABLE] as const, [NO_KEYS, TOM] as const])
    expect(await verify(first, second)).toMatchObject({ label: 'tom' });
  expect(await verify(NO_KEYS, TOM, 'another')).toBeUndefined();
  await expect(verify(NO_KEYS, UNAVAILABLE)).rejects.toThrow(StorageUnavailable);
});
