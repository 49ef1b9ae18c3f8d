import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { storageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { DamagedApiKey, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { DamagedPet, IdempotencyKeyReused, PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

function measured() {
  const registry = new Registry();
  return { ...storageMetrics(registry), series: async () => seriesOf(await registry.metrics()) };
}

it('an operation of a storage takes its time in seconds, and gives its result', async () => {
  const clock = fakeClock();
  const { measure, series } = measured();
  clock.advance(60_000);
  const { promise, resolve } = Promise.withResolvers<string>();
  const result = measure('list_pets')(() => promise);
  expect(nonZero(await series(), 'petstore_storage_operation_duration_seconds')).toStrictEqual({});
  clock.advance(250);
  resolve('pets');
  expect(await result).toBe('pets');
  expect(nonZero(await series(), 'petstore_storage_operation_duration_seconds_count')).toStrictEqual({
    'petstore_storage_operation_duration_seconds_count{operation="list_pets"}': 1,
  });
  expect(nonZero(await series(), 'petstore_storage_operation_duration_seconds_sum')).toStrictEqual({
    'petstore_storage_operation_duration_seconds_sum{operation="list_pets"}': 0.25,
  });
});

it.each([
  ['unavailable', new StorageUnavailable('away')],
  ['damaged', new DamagedPet(1n, 'x')],
  ['damaged', new DamagedApiKey('x', 'y')],
  ['ids_exhausted', new PetIdsExhausted()],
  ['bug', new TypeError('x is not a function')],
  ['bug', Object.assign(new Error('x'), { kind: 'toString' })],
  ['bug', 'no error'],
])('an operation of a storage fails, and is counted as %s: %s', async (kind, error) => {
  const { measure, series } = measured();
  const run = measure('find_pet');
  const counter = `petstore_storage_failures_total{operation="find_pet",kind="${kind}"}`;
  const runs = 'petstore_storage_operation_duration_seconds_count{operation="find_pet"}';
  // A counter that begins at 1 has no increase.
  const before = await series();
  expect([counter, runs].map((name) => before.get(name))).toStrictEqual([0, 0]);
  await expect(run(() => Promise.reject(error as Error))).rejects.toBe(error);
  const values = await series();
  expect(nonZero(values, 'petstore_storage_failures_total')).toStrictEqual({ [counter]: 1 });
  expect(values.get(runs)).toBe(1);
});

it('an operation of a storage does not fail when it says no', async () => {
  const { measure, series } = measured();
  const refusal = new IdempotencyKeyReused();
  await expect(measure('insert_pet_once')(() => Promise.reject(refusal))).rejects.toBe(refusal);
  expect(nonZero(await series(), 'petstore_storage_failures_total')).toStrictEqual({});
});

it('a storage reports its commits', async () => {
  const { meter, series } = measured();
  meter.insertsCommitted(3);
  const values = await series();
  expect(values.get('petstore_storage_commit_inserts_sum')).toBe(3);
  expect(values.get('petstore_storage_commit_inserts_bucket{le="2"}')).toBe(0);
  expect(values.get('petstore_storage_commit_inserts_bucket{le="4"}')).toBe(1);
});

it('a storage reports its connections', async () => {
  const { meter, series } = measured();
  const figures = async () => {
    const values = await series();
    return ['connections', 'connections_in_use', 'connection_waiters', 'connection_refusals_total'].map(
      (name) => values.get(`petstore_storage_${name}`),
    );
  };
  for (const event of ['requested', 'opened', 'taken', 'requested', 'requested'] as const) {
    meter.connection(event);
  }
  expect(await figures()).toStrictEqual([1, 1, 2, 0]);
  for (const event of ['refused', 'returned', 'taken', 'returned', 'closed'] as const) {
    meter.connection(event);
  }
  expect(await figures()).toStrictEqual([0, 0, 0, 1]);
});
