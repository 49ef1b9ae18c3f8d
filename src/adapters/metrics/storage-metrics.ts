import type { Registry } from 'prom-client';
import { faultOf } from '../../application/fault.ts';
import type { ApiKeyError } from '../../application/keys/errors.ts';
import type { PetError } from '../../application/pets/errors.ts';
import type { ConnectionEvent, StorageMeter } from '../../application/ports/storage-meter.ts';
import { exposeCounts, exposeFigure } from './expose.ts';
import { Histogram, type Series } from './histogram.ts';
import { DURATION_BUCKETS } from './request-metrics.ts';

/** The names of the operations of the storage, by the methods of the ports. */
export const PET_OPERATIONS = {
  insert: 'insert_pet',
  insertOnce: 'insert_pet_once',
  findById: 'find_pet',
  list: 'list_pets',
} as const;
export const KEY_OPERATIONS = {
  insert: 'insert_key',
  findById: 'find_key',
  list: 'list_keys',
  revoke: 'revoke_key',
  expire: 'expire_key',
  recordUse: 'record_key_uses',
} as const;
const OPERATIONS = [
  ...Object.values(PET_OPERATIONS),
  ...Object.values(KEY_OPERATIONS),
  'count_request',
  'check',
] as const;

type Operation = (typeof OPERATIONS)[number];

type FailureKind = 'unavailable' | 'damaged' | 'ids_exhausted' | 'bug';

type OperatorError = Extract<PetError | ApiKeyError, { readonly fault: 'operator' }>;

/** The failures that only an operator can help with. */
const KINDS: ReadonlyMap<string, FailureKind> = new Map(
  Object.entries({
    'damaged-pet': 'damaged',
    'damaged-api-key': 'damaged',
    'pet-ids-exhausted': 'ids_exhausted',
  } satisfies Record<OperatorError['kind'], FailureKind>),
);

/** What an event adds to the connections that are open, those in use, and the calls that wait for one. */
const CHANGES = {
  opened: [1, 0, 0],
  closed: [-1, 0, 0],
  requested: [0, 0, 1],
  taken: [0, 1, -1],
  refused: [0, 0, -1],
  returned: [0, -1, 0],
} as const satisfies Record<ConnectionEvent, readonly [number, number, number]>;

/** Inserts that share a commit: powers of two up to the largest batch. */
const COMMIT_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

type Measured = { readonly durations: Series; readonly failures: Record<FailureKind, number> };

/** Measures what a storage does: its operations from outside, and what it reports about itself. */
export class StorageMetrics implements StorageMeter {
  readonly #operations: Readonly<Record<Operation, Measured>>;
  readonly #commits: Series;
  #openConnections = 0;
  #connectionsInUse = 0;
  #waiters = 0;
  #refusals = 0;

  constructor(registry: Registry) {
    const durations = new Histogram(
      registry,
      'petstore_storage_operation_duration_seconds',
      'How long operations of the storage took, the failed ones included.',
      DURATION_BUCKETS,
    );
    const measured = OPERATIONS.map((operation): [Operation, Measured] => [
      operation,
      {
        durations: durations.with({ operation }),
        failures: { unavailable: 0, damaged: 0, ids_exhausted: 0, bug: 0 },
      },
    ]);
    this.#operations = Object.fromEntries(measured) as Record<Operation, Measured>;
    this.#commits = new Histogram(
      registry,
      'petstore_storage_commit_inserts',
      'How many inserts shared a commit.',
      COMMIT_BUCKETS,
    ).with({});
    this.#expose(registry);
  }

  /**
   * Makes a function that runs an operation and takes its time. It settles as the operation does. It is not async: that
   * would cost one more promise.
   */
  measure(operation: Operation): <T>(run: () => Promise<T>) => Promise<T> {
    const { durations, failures } = this.#operations[operation];
    return (run) => {
      const startedMs = performance.now();
      const end = () => durations.observe((performance.now() - startedMs) / 1_000);
      return run().then(
        (result) => {
          end();
          return result;
        },
        (error: unknown) => {
          end();
          const kind = failureKind(error);
          if (kind !== undefined) failures[kind]++;
          throw error;
        },
      );
    };
  }

  insertsCommitted(inserts: number): void {
    this.#commits.observe(inserts);
  }

  connection(event: ConnectionEvent): void {
    const [open, inUse, waiters] = CHANGES[event];
    this.#openConnections += open;
    this.#connectionsInUse += inUse;
    this.#waiters += waiters;
    if (event === 'refused') this.#refusals++;
  }

  #expose(registry: Registry): void {
    const count = (name: string, help: string, read: () => number) =>
      exposeCounts(registry, { name, help }, () => [[{}, read()]]);
    const figure = (name: string, help: string, read: () => number) =>
      exposeFigure(registry, { name, help }, read);
    exposeCounts(
      registry,
      {
        name: 'petstore_storage_failures_total',
        help: 'Operations of the storage that failed.',
        labelNames: ['operation', 'kind'],
      },
      () =>
        Object.entries(this.#operations).flatMap(([operation, { failures }]) =>
          Object.entries(failures).map(([kind, failed]) => [{ operation, kind }, failed] as const),
        ),
    );
    figure(
      'petstore_storage_connections',
      'Open connections to the storage. 0 if it has no pool.',
      () => this.#openConnections,
    );
    figure(
      'petstore_storage_connections_in_use',
      'Connections to the storage that a call uses.',
      () => this.#connectionsInUse,
    );
    figure(
      'petstore_storage_connection_waiters',
      'Calls that wait for a connection to the storage.',
      () => this.#waiters,
    );
    count(
      'petstore_storage_connection_refusals_total',
      'Calls that got no connection to the storage.',
      () => this.#refusals,
    );
  }
}

/** `undefined`: the storage has done its part, and its answer is no. */
function failureKind(error: unknown): FailureKind | undefined {
  const fault = faultOf(error);
  if (fault === 'client') return undefined;
  if (fault === 'storage') return 'unavailable';
  return (fault === 'operator' && KINDS.get((error as OperatorError).kind)) || 'bug';
}
