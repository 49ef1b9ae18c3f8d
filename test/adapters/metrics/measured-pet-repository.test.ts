import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { MeasuredPetRepository } from '../../../src/adapters/metrics/measured-pet-repository.ts';
import { StorageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { idempotencyContract } from '../../contracts/idempotency.ts';
import { petRepositoryContract } from '../../contracts/pet-repository.ts';
import { petRepositoryModel } from '../../contracts/pet-repository-model.ts';
import { idempotencyFor, petsAfter } from '../../support/archived-pets.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

const open = async (lastId?: bigint) => ({
  pets: new MeasuredPetRepository(await petsAfter(lastId), new StorageMetrics(new Registry())),
});
const LACKS = { another: 'the repository is the store' };

petRepositoryContract('measured', open, LACKS);
idempotencyContract('measured', open, LACKS);
petRepositoryModel(
  'measured',
  async () => {
    const archive = new InMemoryPetRepository();
    const pets = new MeasuredPetRepository(archive, new StorageMetrics(new Registry()));
    return { open: async () => ({ pets, archive }) };
  },
  { runs: 10, processes: 'one' },
);

describe('a measured repository of pets', () => {
  it('counts each operation under its name', async () => {
    const registry = new Registry();
    const pets = new MeasuredPetRepository(await petsAfter(), new StorageMetrics(registry));
    const rex = { name: 'Rex', categoryId: 7n, status: 'available' } as const;
    await pets.insert(rex);
    await pets.insertOnce(rex, idempotencyFor('a'));
    await pets.findById(1n);
    await pets.list({ limit: 1 });
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
