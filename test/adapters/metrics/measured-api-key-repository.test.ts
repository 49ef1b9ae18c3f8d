import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { MeasuredApiKeyRepository } from '../../../src/adapters/metrics/measured-api-key-repository.ts';
import { StorageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { aKey } from '../../support/api-keys.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

describe('a measured repository of keys', () => {
  it('answers as the other repository does, and counts each operation under its name', async () => {
    const registry = new Registry();
    const other = new InMemoryApiKeyRepository();
    const keys = new MeasuredApiKeyRepository(other, new StorageMetrics(registry));
    const key = aKey();
    const at = key.createdAt;
    await keys.insert(key);
    await keys.recordUse(new Map([[key.id, at]]));
    expect(await keys.findById(key.id)).toStrictEqual({ ...key, lastUsedAt: at });
    expect(await keys.list()).toStrictEqual(await other.list());
    expect(await keys.expire(key.id, at)).toStrictEqual({ ...key, lastUsedAt: at, expiresAt: at });
    expect(await keys.revoke(key.id, at)).toStrictEqual(await other.findById(key.id));
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
