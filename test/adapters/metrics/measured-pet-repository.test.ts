import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { MeasuredPetRepository } from '../../../src/adapters/metrics/measured-pet-repository.ts';
import { StorageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { idempotencyFor, petsAfter } from '../../support/archived-pets.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

describe('a measured repository of pets', () => {
  it('answers as the other repository does, and counts each operation under its name', async () => {
    const registry = new Registry();
    const pets = new MeasuredPetRepository(await petsAfter(), new StorageMetrics(registry));
    const rex = { name: 'Rex', categoryId: 7n, status: 'available' } as const;
    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
    const once = await pets.insertOnce({ ...rex, status: 'sold' }, idempotencyFor('a'));
    expect(once).toStrictEqual({ pet: { id: 2n, ...rex, status: 'sold' }, replayed: false });
    expect(await pets.findById(1n)).toStrictEqual({ id: 1n, ...rex });
    expect(await pets.list({ limit: 1, after: 1n, status: 'sold' })).toStrictEqual([once.pet]);
    const counted = nonZero(
      seriesOf(await registry.metrics()),
      'petstore_storage_operation_duration_seconds_count',
    );
    expect(counted).toStrictEqual(
      Object.fromEntries(
        ['insert_pet', 'insert_pet_once', 'find_pet', 'list_pets'].map((operation) => [
          `petstore_storage_operation_duration_seconds_count{operation="${operation}"}`,
          1,
        ]),
      ),
    );
  });
});
