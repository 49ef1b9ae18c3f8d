import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from 'mongodb';
import { Deadline } from './deadline.ts';
import type { FreshReads } from './fresh-reads.ts';
import type { ApiKeyDocument } from './schema.ts';

/** How far apart two queries begin, in milliseconds. */
const APART_MS = 5;

type Found = ReadonlyMap<string, ApiKeyDocument>;

/**
 * Finds keys by their ids, those that are asked for within a few milliseconds in one query. The first is asked for at
 * once; a flood of keys that nobody has heard of costs no more than 200 queries a second.
 */
export class ApiKeyLookup {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #deadlineMs: number;
  readonly #reads: FreshReads;
  #next: { readonly ids: Set<string>; readonly found: Promise<Found> } | undefined;
  #lastAt = -Infinity;

  constructor(keys: Collection<ApiKeyDocument>, deadlineMs: number, reads: FreshReads) {
    this.#keys = keys;
    this.#deadlineMs = deadlineMs;
    this.#reads = reads;
  }

  async find(id: string): Promise<ApiKeyDocument | undefined> {
    const pause = this.#lastAt + APART_MS - performance.now();
    const isFirst = pause <= 0 && this.#next === undefined;
    const found = await (isFirst ? this.#query([id]) : this.#together(id, pause));
    return found.get(id);
  }

  #together(id: string, pause: number): Promise<Found> {
    this.#next ??= this.#collect(pause);
    this.#next.ids.add(id);
    return this.#next.found;
  }

  #collect(pause: number): { readonly ids: Set<string>; readonly found: Promise<Found> } {
    const ids = new Set<string>();
    // Whole milliseconds: a timer cuts off the rest.
    const found = sleep(Math.ceil(pause)).then(() => {
      this.#next = undefined;
      return this.#query([...ids]);
    });
    return { ids, found };
  }

  async #query(ids: readonly string[]): Promise<Found> {
    this.#lastAt = performance.now();
    const options = { batchSize: ids.length + 1 } as const;
    // A miss is not doubted: an unknown key would take longer than a revoked one, and cost the database a write.
    const found = await this.#reads.read(new Deadline(this.#deadlineMs), () =>
      this.#keys.find({ _id: { $in: [...ids] } }, options).toArray(),
    );
    return new Map(found.map((document) => [document._id, document]));
  }
}
