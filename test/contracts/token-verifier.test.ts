import { describe } from 'vitest';
import { InMemoryTokenVerifier, toKnownKey } from '../../src/adapters/tokens/in-memory-token-verifier.ts';
import { mintKey, tokenForm } from '../../src/adapters/tokens/token.ts';
import { StoredTokenVerifier } from '../../src/application/keys/token-verifiers.ts';
import { aKey, keysWith } from '../support/api-keys.ts';
import { tokenVerifierContract } from './token-verifier.ts';

describe('TokenVerifier: known keys', () => {
  tokenVerifierContract(async (labels) => {
    const keys = labels.map((label) => ({ label, token: `${label}-${mintKey().token}` }));
    return {
      verifier: new InMemoryTokenVerifier(keys.map(toKnownKey)),
      tokens: keys.map(({ token }) => token),
    };
  });
});

describe('TokenVerifier: stored keys', () => {
  tokenVerifierContract(async (labels) => {
    const minted = labels.map((label) => ({ label, ...mintKey() }));
    // `aKey` also copies `token`, but the repository stores only the fields of a key.
    const keys = await keysWith(...minted.map((fields) => aKey(1, fields)));
    const verifier = new StoredTokenVerifier(keys, tokenForm, () => aKey(1).createdAt);
    return { verifier, tokens: minted.map(({ token }) => token) };
  });
});
