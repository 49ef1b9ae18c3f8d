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

it('measure records how many seconds a storage operation takes, and returns the result', async () => {
  const clock = fakeClock();
  const { measure, series } = createStorageMetrics();
  // The time before the operation must not be recorded.
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
  // The kind of an error is used only if the error also has a fault, as the errors of the service have.
  ['bug', Object.assign(new Error('x'), { kind: 'toString' })],
  ['bug', 'no error'],
])('measure counts a failure of the kind %s when an operation rejects with %s', async (kind, error) => {
  const { measure, series } = createStorageMetrics();
  const measureFind = measure('find_pet');
  const failureCounter = `petstore_storage_failures_total{operation="find_pet",kind="${kind}"}`;
  const callCounter = 'petstore_storage_operation_duration_seconds_count{operation="find_pet"}';
  // The counters must exist with the value 0. For Prometheus, a counter that begins at 1 has not increased.
  const valuesBefore = await series();
  expect([failureCounter, callCounter].map((name) => valuesBefore.get(name))).toStrictEqual([0, 0]);
  await expect(measureFind(() => Promise.reject(error as Error))).rejects.toBe(error);
  const values = await series();
  expect(nonZero(values, 'petstore_storage_failures_total')).toStrictEqual({ [failureCounter]: 1 });
  expect(values.get(callCounter)).toBe(1);
});

it('measure counts no failure when an operation rejects because of a wrong request of the client', async () => {
  const { measure, series } = createStorageMetrics();
  const clientError = new IdempotencyKeyReused();
  await expect(measure('insert_pet_once')(() => Promise.reject(clientError))).rejects.toBe(clientError);
  expect(nonZero(await series(), 'petstore_storage_failures_total')).toStrictEqual({});
});

it('insertsCommitted of the meter records how many inserts a commit has', async () => {
  const { meter, series } = createStorageMetrics();
  meter.insertsCommitted(3);
  const values = await series();
  expect(values.get('petstore_storage_commit_inserts_sum')).toBe(3);
  // The bucket "le=2" counts the commits that have at most 2 inserts.
  expect(values.get('petstore_storage_commit_inserts_bucket{le="2"}')).toBe(0);
  expect(values.get('petstore_storage_commit_inserts_bucket{le="4"}')).toBe(1);
});

it('the meter counts open connections, used connections, waiting calls and refused calls', async () => {
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
