import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from 'mongodb';
import type { ConfirmedReads } from './confirmed-reads.ts';
import type { ApiKeyDocument } from './schema/collections.ts';

/** The minimum time between the starts of two queries. */
const QUERY_INTERVAL_MS = 5;

type Found = ReadonlyMap<string, ApiKeyDocument>;
type Batch = { readonly ids: Set<string>; readonly found: Promise<Found> };

/**
 * Finds keys by id. The first query starts at once. Lookups within a few milliseconds after it share the next query: a
 * flood of unknown keys costs 200 queries a second at most.
 */
export class ApiKeyLookup {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #reads: ConfirmedReads;
  readonly #timeoutMs: number;
  #nextBatch: Batch | undefined;
  #lastQueryAt = -Infinity;

  constructor(keys: Collection<ApiKeyDocument>, reads: ConfirmedReads, timeoutMs: number) {
    this.#keys = keys;
    this.#reads = reads;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws {StorageUnavailable} */
  async find(id: string): Promise<ApiKeyDocument | undefined> {
    const pauseMs = this.#lastQueryAt + QUERY_INTERVAL_MS - performance.now();
    const isFirst = pauseMs <= 0 && this.#nextBatch === undefined;
    const found = await (isFirst ? this.#query([id]) : this.#joinBatch(id, pauseMs));
    return found.get(id);
  }

  #joinBatch(id: string, pauseMs: number): Promise<Found> {
    this.#nextBatch ??= this.#startBatch(pauseMs);
    this.#nextBatch.ids.add(id);
    return this.#nextBatch.found;
  }

  #startBatch(pauseMs: number): Batch {
    const ids = new Set<string>();
    // Rounded up: a timer truncates fractions of a millisecond.
    const found = sleep(Math.ceil(pauseMs)).then(() => {
      this.#nextBatch = undefined;
      return this.#query([...ids]);
    });
    return { ids, found };
  }

  async #query(ids: readonly string[]): Promise<Found> {
    this.#lastQueryAt = performance.now();
    const options = { batchSize: ids.length + 1 } as const;
    // A miss is not confirmed: an unknown key would take longer than a revoked one and cost the database a write.
    const found = await this.#reads.read(this.#timeoutMs, () =>
      this.#keys.find({ _id: { $in: [...ids] } }, options).toArray(),
    );
    return new Map(found.map((document) => [document._id, document]));
  }
}
