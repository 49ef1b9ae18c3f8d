import type { Collection } from 'mongodb';
import { Batcher } from '../round-trips/batcher.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import type { ApiKeyDocument } from './schema/collections.ts';

/** The time between the starts of two queries: a flood of unknown keys costs 200 queries a second at most. */
const QUERY_INTERVAL_MS = 5;

/** Finds keys by id. */
export class ApiKeyLookup {
  readonly #queries: Batcher<string, Map<string, ApiKeyDocument>>;

  constructor(keys: Collection<ApiKeyDocument>, reads: ConfirmedReads, timeoutMs: number) {
    // A miss is not confirmed: an unknown key would take longer than a revoked one and cost the database a write.
    const query = async (ids: readonly string[]) => {
      const $in = [...new Set(ids)];
      const options = { batchSize: $in.length + 1 } as const;
      const found = await reads.read(timeoutMs, () => keys.find({ _id: { $in } }, options).toArray());
      return new Map<string, ApiKeyDocument>(found.map((document) => [document._id, document]));
    };
    const pace = { maxWaitMs: QUERY_INTERVAL_MS, alwaysWaits: true, maxCalls: Infinity };
    this.#queries = new Batcher(query, pace);
  }

  /** @throws {StorageUnavailable} */
  async find(id: string): Promise<ApiKeyDocument | undefined> {
    const found = await this.#queries.add(id);
    return found.get(id);
  }
}
