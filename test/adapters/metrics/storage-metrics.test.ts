import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { storageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { DamagedApiKey, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { DamagedPet, IdempotencyKeyReused, PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

function createStorageMetrics() {
  const registry = new Registry();
  return { ...storageMetrics(registry), series: async () => seriesOf(await registry.metrics()) };
}

it('measure counts the seconds that an operation of a storage takes, and returns the result of the operation', async () => {
  const clock = fakeClock();
  const { measure, series } = createStorageMetrics();
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
])('measure counts a failure of the kind %s when an operation rejects with %s', async (kind, error) => {
  const { measure, series } = createStorageMetrics();
  const run = measure('find_pet');
  const counter = `petstore_storage_failures_total{operation="find_pet",kind="${kind}"}`;
  const runCounter = 'petstore_storage_operation_duration_seconds_count{operation="find_pet"}';
  // The counters must exist with the value 0. For Prometheus, a counter that begins at 1 has not increased.
  const valuesBefore = await series();
  expect([counter, runCounter].map((name) => valuesBefore.get(name))).toStrictEqual([0, 0]);
  await expect(run(() => Promise.reject(error as Error))).rejects.toBe(error);
  const values = await series();
  expect(nonZero(values, 'petstore_storage_failures_total')).toStrictEqual({ [counter]: 1 });
  expect(values.get(runCounter)).toBe(1);
});

it('measure counts no failure when an operation of a storage rejects because of a mistake of the client', async () => {
  const { measure, series } = createStorageMetrics();
  const refusal = new IdempotencyKeyReused();
  await expect(measure('insert_pet_once')(() => Promise.reject(refusal))).rejects.toBe(refusal);
  expect(nonZero(await series(), 'petstore_storage_failures_total')).toStrictEqual({});
});

it('the meter of a storage counts the inserts of each commit', async () => {
  const { meter, series } = createStorageMetrics();
  meter.insertsCommitted(3);
  const values = await series();
  expect(values.get('petstore_storage_commit_inserts_sum')).toBe(3);
  expect(values.get('petstore_storage_commit_inserts_bucket{le="2"}')).toBe(0);
  expect(values.get('petstore_storage_commit_inserts_bucket{le="4"}')).toBe(1);
});

it('the meter of a storage counts connections, and the calls that wait for a connection or are refused one', async () => {
  const { meter, series } = createStorageMetrics();
  const connectionMetrics = async () => {
    const values = await series();
    return ['connections', 'connections_in_use', 'connection_waiters', 'connection_refusals_total'].map(
      (name) => values.get(`petstore_storage_${name}`),
    );
  };
  for (const event of ['requested', 'opened', 'taken', 'requested', 'requested'] as const) {
    meter.connection(event);
  }
  expect(await connectionMetrics()).toStrictEqual([1, 1, 2, 0]);
  for (const event of ['refused', 'returned', 'taken', 'returned', 'closed'] as const) {
    meter.connection(event);
  }
  expect(await connectionMetrics()).toStrictEqual([0, 0, 0, 1]);
});
