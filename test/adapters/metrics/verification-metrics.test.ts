import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { measureTokens, VerificationMetrics } from '../../../src/adapters/metrics/verification-metrics.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

describe('a measured verifier', () => {
  it('counts what is accepted and what cannot be checked', async () => {
    const registry = new Registry();
    const metrics = new VerificationMetrics(registry);
    const away = new StorageUnavailable('away');
    const known = new InMemoryTokenVerifier([knownKey({ label: 'tom', token: 'tom-0123456789abcdef' })]);
    const verifier = measureTokens(
      { verify: (token) => (token === 'away' ? Promise.reject(away) : known.verify(token)) },
      metrics,
    );
    for (let n = 0; n < 2; n++) {
      expect(await verifier.verify('tom-0123456789abcdef')).toMatchObject({ id: 'tom' });
    }
    expect(await verifier.verify('nobody')).toBeUndefined();
    await expect(verifier.verify('away')).rejects.toBe(away);
    expect(nonZero(seriesOf(await registry.metrics()), 'petstore_key_verifications_total')).toStrictEqual({
      'petstore_key_verifications_total{outcome="accepted"}': 2,
      'petstore_key_verifications_total{outcome="failed"}': 1,
    });
  });
});
