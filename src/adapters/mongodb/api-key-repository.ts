import type { Collection, Db } from 'mongodb';
import { ApiKeyIdTaken } from '../../application/keys/errors.ts';
import { type DamagedApiKey } from '../../application/keys/errors.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { parseStoredApiKey, throwIfDamaged } from '../../application/keys/parse-stored-api-key.ts';
import { type ApiKeyRepository, USE_INTERVAL_MS } from '../../application/ports/api-key-repository.ts';
import type { ApiKey, RateLimit } from '../../domain/api-key.ts';
import { ApiKeyLookup } from './api-key-lookup.ts';
import { Deadline } from './deadline.ts';
import { duplicateField, isMisfit } from './errors.ts';
import { FreshReads } from './fresh-reads.ts';
import { type ApiKeyDocument, apiKeysOf } from './schema.ts';

/** Every call is over after this time, with an answer or with {@link StorageUnavailable}. */
const DEADLINE_MS = 10_000;

/** API keys in MongoDB, shared by any number of processes. */
export class MongoApiKeyRepository implements ApiKeyRepository {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #lookup: ApiKeyLookup;
  readonly #deadlineMs: number;
  readonly #reads: FreshReads;

  constructor(db: Db, deadlineMs = DEADLINE_MS, reads = new FreshReads(db)) {
    this.#keys = apiKeysOf(db);
    this.#lookup = new ApiKeyLookup(this.#keys, deadlineMs, reads);
    this.#deadlineMs = deadlineMs;
    this.#reads = reads;
  }

  async insert(key: ApiKey): Promise<void> {
    const document = toDocument(key);
    await this.#persistently(() => this.#insertDocument(document));
  }

  async findById(id: string): Promise<ApiKey | undefined> {
    const found = await this.#lookup.find(id);
    return found === undefined ? undefined : throwIfDamaged(toRecord(found));
  }

  async list(): Promise<readonly (ApiKey | DamagedApiKey)[]> {
    const options = { sort: { createdAt: 1, _id: 1 } } as const;
    const found = await this.#reads.read(new Deadline(this.#deadlineMs), () =>
      this.#keys.find({}, options).toArray(),
    );
    return found.map(toRecord);
  }

  async revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#advance(id, { revokedAt: new Date(at) });
  }

  async expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#advance(id, { expiresAt: new Date(at) });
  }

  async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    const updates = [...uses].map(([id, at]) => {
      const tooLate = new Date(at.getTime() - USE_INTERVAL_MS);
      // Negated, so that it is true of a key that was never used as well.
      const filter = { _id: id, lastUsedAt: { $not: { $gt: tooLate } } };
      return { updateOne: { filter, update: { $set: { lastUsedAt: new Date(at) } } } };
    });
    // The driver refuses to write nothing.
    if (updates.length === 0) return;
    await this.#persistently(() => this.#keys.bulkWrite(updates, { ordered: false }));
  }

  async #insertDocument(document: ApiKeyDocument): Promise<void> {
    try {
      await this.#keys.insertOne(document);
    } catch (error) {
      if (duplicateField(error) !== '_id') throw error;
      const owner = await this.#keys.findOne({ _id: document._id });
      if (owner === null) throw new StorageUnavailable('the key is not yet durable', { cause: error });
      if (throwIfDamaged(toRecord(owner)).digest !== document.digest) throw new ApiKeyIdTaken(document._id);
    }
  }

  /** `$min` keeps the earlier date, and takes a date where there is none. */
  async #advance(
    id: string,
    date: Pick<ApiKeyDocument, 'revokedAt' | 'expiresAt'>,
  ): Promise<ApiKey | undefined> {
    const options = { returnDocument: 'after' } as const;
    const changed = await this.#persistently(async () => {
      try {
        return await this.#keys.findOneAndUpdate({ _id: id }, { $min: date }, options);
      } catch (error) {
        // The validator refuses every change of a damaged document, and does not say why.
        if (isMisfit(error)) await this.findById(id);
        throw error;
      }
    });
    return changed === null ? undefined : throwIfDamaged(toRecord(changed));
  }

  /** Every call here may be repeated. */
  #persistently<T>(work: () => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#deadlineMs);
    return deadline.bound(deadline.retry(work));
  }
}

/** Of its own: nothing that the caller may change while we wait, and nothing that is no part of a key. */
function toDocument({ id, label, digest, scopes, createdAt, ...optional }: ApiKey): ApiKeyDocument {
  const { expiresAt, rateLimit, revokedAt, lastUsedAt } = optional;
  return {
    _id: id,
    label,
    digest,
    scopes: [...scopes],
    createdAt: new Date(createdAt),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    ...(rateLimit !== undefined && { rateLimit: toRateLimit(rateLimit) }),
    ...(revokedAt !== undefined && { revokedAt: new Date(revokedAt) }),
    ...(lastUsedAt !== undefined && { lastUsedAt: new Date(lastUsedAt) }),
  };
}

/** Of its own: the document may be the answer to others, too. */
function toRecord({ _id: id, ...document }: ApiKeyDocument): ApiKey | DamagedApiKey {
  return parseStoredApiKey({ id, ...structuredClone(document) });
}

function toRateLimit({ requests, seconds }: RateLimit): RateLimit {
  return { requests, seconds };
}
