import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { MeasuredApiKeyRepository } from '../../../src/adapters/metrics/measured-api-key-repository.ts';
import { StorageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { apiKeyRepositoryContract } from '../../contracts/api-key-repository.ts';
import { aKey } from '../../support/api-keys.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

const measured = (registry: Registry) =>
  new MeasuredApiKeyRepository(new InMemoryApiKeyRepository(), new StorageMetrics(registry));

apiKeyRepositoryContract('measured', async () => ({ keys: measured(new Registry()) }), {
  another: 'the repository is the store',
});

describe('a measured repository of keys', () => {
  it('counts each operation under its name', async () => {
    const registry = new Registry();
    const keys = measured(registry);
    const key = aKey();
    await keys.insert(key);
    await keys.findById(key.id);
    await keys.list();
    await keys.expire(key.id, key.createdAt);
    await keys.revoke(key.id, key.createdAt);
    await keys.recordUse(new Map([[key.id, key.createdAt]]));
    const operations = ['insert_key', 'find_key', 'list_keys', 'revoke_key', 'expire_key', 'record_key_uses'];
    expect(
      nonZero(seriesOf(await registry.metrics()), 'petstore_storage_operation_duration_seconds_count'),
    ).toStrictEqual(
      Object.fromEntries(
        operations.map((operation) => [
          `petstore_storage_operation_duration_seconds_count{operation="${operation}"}`,
          1,
        ]),
      ),
    );
  });
});
