import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { faultOf } from '../../domain/fault.ts';
import type { ApiKeyError } from '../../application/keys/errors.ts';
import type { PetError } from '../../application/pets/errors.ts';
import type { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { ConnectionEvent, StorageMeter } from '../../application/ports/storage-health.ts';
import { exposeGauge } from './expose.ts';
import { DURATION_BUCKETS } from './request-metrics.ts';

type OperatorError = Extract<PetError | ApiKeyError | StorageSetupError, { readonly fault: 'operator' }>;

const OPERATOR_FAILURES: Readonly<Record<OperatorError['kind'], string>> = {
  'damaged-pet': 'damaged',
  'damaged-api-key': 'damaged',
  'pet-ids-exhausted': 'ids_exhausted',
  'storage-setup': 'refused',
};
const FAILURES = new Set(['unavailable', ...Object.values(OPERATOR_FAILURES), 'bug']);

const CONNECTION_GAUGES = [
  ['petstore_storage_connections', 'Open connections to the storage. 0 if it has no pool.'],
  ['petstore_storage_connections_in_use', 'Connections to the storage that a call uses.'],
  ['petstore_storage_connection_waiters', 'Calls that wait for a connection to the storage.'],
] as const;

const LOG_HELP = 'The size of the write-ahead log of SQLite.';
const CHECKPOINT_HELP = 'When everything in the write-ahead log of SQLite was last moved into the database.';

/** The numbers that an event adds to the three `CONNECTION_GAUGES`. */
const GAUGE_CHANGES = {
  opened: [1, 0, 0],
  closed: [-1, 0, 0],
  requested: [0, 0, 1],
  taken: [0, 1, -1],
  refused: [0, 0, -1],
  returned: [0, -1, 0],
} as const satisfies Record<ConnectionEvent, readonly [number, number, number]>;

/** Inserts per commit: powers of two up to the largest batch. */
const COMMIT_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/**
 * @returns `meter` receives the reports of the storage. Call `measure` once per operation, because each call begins the
 *   series of an operation at 0. The returned function is not async, which saves a promise
 */
export function storageMetrics(registry: Registry) {
  const registers = [registry];
  const durations = new Histogram({
    name: 'petstore_storage_operation_duration_seconds',
    help: 'How long operations of the storage took, the failed ones included.',
    labelNames: ['operation'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const failures = new Counter({
    name: 'petstore_storage_failures_total',
    help: 'Operations of the storage that failed.',
    labelNames: ['operation', 'kind'],
    registers,
  });
  const commits = new Histogram({
    name: 'petstore_storage_commit_inserts',
    help: 'How many inserts shared a commit.',
    buckets: COMMIT_BUCKETS,
    registers,
  });
  const connections = CONNECTION_GAUGES.map(([name, help]) => new Gauge({ name, help, registers }));
  const refusals = new Counter({
    name: 'petstore_storage_connection_refusals_total',
    help: 'Calls that got no connection to the storage.',
    registers,
  });
  const meter: StorageMeter = {
    insertsCommitted: (count) => commits.observe(count),
    connection(event) {
      for (const [index, gauge] of connections.entries()) gauge.inc(GAUGE_CHANGES[event][index]);
      if (event === 'refused') refusals.inc();
    },
    log(bytes, checkpointedAt) {
      exposeGauge(registry, { name: 'petstore_storage_log_bytes', help: LOG_HELP, read: bytes });
      const name = 'petstore_storage_last_checkpoint_timestamp_seconds';
      const read = () => checkpointedAt().getTime() / 1_000;
      exposeGauge(registry, { name, help: CHECKPOINT_HELP, read });
    },
  };
  const measure = (operation: string) => {
    const labels = { operation };
    durations.zero(labels);
    for (const kind of FAILURES) failures.inc({ operation, kind }, 0);
    return <T>(run: () => Promise<T>): Promise<T> => {
      const startedMs = performance.now();
      const end = () => durations.observe(labels, (performance.now() - startedMs) / 1_000);
      const promise = run();
      void promise.then(end, (error: unknown) => {
        end();
        const kind = failureKind(error);
        if (kind !== undefined) failures.inc({ operation, kind });
      });
      return promise;
    };
  };
  return { meter, measure };
}

/** Returns `undefined` for a fault of the client, because the storage works. */
function failureKind(error: unknown): string | undefined {
  const fault = faultOf(error);
  if (fault === 'client') return undefined;
  if (fault === 'storage') return 'unavailable';
  return (fault === 'operator' && OPERATOR_FAILURES[(error as OperatorError).kind]) || 'bug';
}
