import type { Registry } from 'prom-client';
import type { ApiKeyError } from '../../application/keys/errors.ts';
import type { PetError } from '../../application/pets/errors.ts';
import type { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { ConnectionEvent, StorageMeter } from '../../application/ports/storage-health.ts';
import { exposeCounts, exposeFigure } from './expose.ts';
import { Histogram, type Series } from './histogram.ts';
import { DURATION_BUCKETS } from './request-metrics.ts';

const OPERATIONS = [
  'insert_pet',
  'insert_pet_once',
  'find_pet',
  'list_pets',
  'insert_key',
  'find_key',
  'list_keys',
  'revoke_key',
  'expire_key',
  'record_key_uses',
  'count_request',
  'check',
] as const;

export type Operation = (typeof OPERATIONS)[number];

const FAILURES = ['unavailable', 'damaged', 'ids_exhausted', 'bug'] as const;

type FailureKind = (typeof FAILURES)[number];

/** Which errors of the ports are failures. `undefined`: the storage has done its part, and its answer is no. */
const KINDS = {
  'storage-unavailable': 'unavailable',
  'damaged-pet': 'damaged',
  'damaged-api-key': 'damaged',
  'pet-ids-exhausted': 'ids_exhausted',
  'idempotency-key-reused': undefined,
  'invalid-page-size': undefined,
  'invalid-pet': undefined,
  'pet-not-found': undefined,
  'invalid-api-key': undefined,
  'api-key-not-found': undefined,
  'api-key-not-active': undefined,
  'api-key-id-taken': undefined,
} satisfies Record<(PetError | ApiKeyError | StorageUnavailable)['kind'], FailureKind | undefined>;

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

  /** Runs an operation, and takes its time. Settles as it does. Not async: that would cost one more promise. */
  measure<T>(operation: Operation, run: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const { durations, failures } = this.#operations[operation];
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

function failureKind(error: unknown): FailureKind | undefined {
  if (!(error instanceof Error) || !('kind' in error) || !Object.hasOwn(KINDS, error.kind as string)) {
    return 'bug';
  }
  return KINDS[error.kind as keyof typeof KINDS];
}
