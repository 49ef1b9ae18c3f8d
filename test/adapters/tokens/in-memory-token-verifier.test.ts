import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { InMemoryTokenVerifier, toKnownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

it('the digest of a known key is SHA-256 of the token in UTF-8', () => {
  const digest = (token: string) => toKnownKey({ label: 'tom', token }).digest.toString('hex');
  // FIPS 180-2, appendix B.1; and `printf 'ë' | sha256sum`.
  expect(digest('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(digest('ë')).toBe('b19cfb01639de63ec3d32df67b70cb7a56316f9ef5186fd290293abbcf0b8867');
  // An "e" with a combining mark only looks like "ë". Its bytes in UTF-8 are different.
  expect(digest('e\u0308')).not.toBe(digest('ë'));
});

it('a verifier rejects unknown tokens, and keeps none of them in memory', async () => {
  const verifier = new InMemoryTokenVerifier([toKnownKey({ label: 'tom', token: 'a-key-0123456789abcdef' })]);
  const tokenCount = 2_000;
  const tokenBytes = 10_000;
  const heapBytesBefore = measureHeapBytes();

  for (let n = 0; n < tokenCount; n++)
    expect(await verifier.verify(randomBytes(tokenBytes / 2).toString('hex'))).toBeUndefined();

  expect(measureHeapBytes() - heapBytesBefore).toBeLessThan((tokenCount * tokenBytes) / 4);
  // The verifier is used once more, so that the verifier itself was not garbage during the measurement.
  expect(await verifier.verify('a-key-0123456789abcdef')).toStrictEqual({
    id: 'tom',
    label: 'tom',
    scopes: ['pets:read', 'pets:write'],
  });
});

/** Collects the garbage, and returns the size of the used heap. */
function measureHeapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
