import type { Collection, Db } from 'mongodb';
import { ApiKeyIdTaken } from '../../application/keys/errors.ts';
import { type DamagedApiKey, StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { parseStoredApiKey, throwIfDamaged } from '../../application/keys/stored-keys.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { USE_INTERVAL_MS, storedApiKey, type ApiKey } from '../../domain/api-key.ts';
import { Batcher } from './round-trips/batcher.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import { CALL_TIMEOUT_MS } from './connection/deadline.ts';
import { duplicateField } from './connection/mongo-errors.ts';
import { isServerError } from './connection/server-error-codes.ts';
import type { ApiKeyDocument } from './schema/collections.ts';

/** Requests share lookups, so that MongoDB receives at most 200 per second. */
const LOOKUP_PACE = { maxWaitMs: 5, alwaysWaits: true, maxCalls: Infinity } as const;

export class MongoApiKeyRepository implements ApiKeyRepository {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #lookups = new Batcher((ids: readonly string[]) => this.#findByIds(ids), LOOKUP_PACE);
  readonly #reads: ConfirmedReads;
  readonly #timeoutMs: number;

  constructor(db: Db, reads: ConfirmedReads, timeoutMs = CALL_TIMEOUT_MS) {
    this.#keys = db.collection('api_keys');
    this.#reads = reads;
    this.#timeoutMs = timeoutMs;
  }

  async insert(key: ApiKey): Promise<void> {
    const document = toDocument(key);
    await this.#retry(() => this.#insertDocument(document));
  }

  async findById(id: string): Promise<ApiKey | undefined> {
    const document = (await this.#lookups.add(id)).get(id);
    return document && throwIfDamaged(toApiKey(document));
  }

  async list(): Promise<readonly (ApiKey | DamagedApiKey)[]> {
    const options = { sort: { createdAt: 1, _id: 1 } } as const;
    const documents = await this.#reads.read(this.#timeoutMs, () => this.#keys.find({}, options).toArray());
    return documents.map(toApiKey);
  }

  async revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#setEarlierDate(id, { revokedAt: new Date(at) });
  }

  async expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#setEarlierDate(id, { expiresAt: new Date(at) });
  }

  async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    const updates = [...uses].map(([id, at]) => {
      const oneIntervalEarlier = new Date(at.getTime() - USE_INTERVAL_MS);
      // Unlike `$lte`, `$not` with `$gt` also matches a key without `lastUsedAt`.
      const filter = { _id: id, lastUsedAt: { $not: { $gt: oneIntervalEarlier } } };
      return { updateOne: { filter, update: { $set: { lastUsedAt: new Date(at) } } } };
    });
    // The driver rejects an empty bulk write.
    if (updates.length === 0) return;
    await this.#retry(() => this.#keys.bulkWrite(updates, { ordered: false }));
  }

  /** A missing key causes no confirmation: see docs/explanation/confirmed-reads.md. */
  async #findByIds(ids: readonly string[]): Promise<ReadonlyMap<string, ApiKeyDocument>> {
    const $in = [...new Set(ids)];
    const options = { batchSize: $in.length + 1 } as const;
    const query = () => this.#keys.find({ _id: { $in } }, options).toArray();
    const documents = await this.#reads.read(this.#timeoutMs, query);
    return new Map(documents.map((document) => [document._id, document]));
  }

  async #insertDocument(document: ApiKeyDocument): Promise<void> {
    try {
      await this.#keys.insertOne(document);
    } catch (error) {
      if (duplicateField(error) !== '_id') throw error;
      const existing = await this.#keys.findOne({ _id: document._id });
      if (existing === null) throw new StorageUnavailable('the API key is not yet durable');
      if (throwIfDamaged(toApiKey(existing)).digest !== document.digest)
        throw new ApiKeyIdTaken(document._id);
    }
  }

  /** Keeps a stored date that is earlier. */
  async #setEarlierDate(id: string, dateField: Partial<ApiKeyDocument>): Promise<ApiKey | undefined> {
    const options = { returnDocument: 'after' } as const;
    const document = await this.#retry(async () => {
      try {
        return await this.#keys.findOneAndUpdate({ _id: id }, { $min: dateField }, options);
      } catch (error) {
        // The validator refuses to change a damaged document. `findById` throws the error that names the damage.
        if (isServerError(error, 'DocumentValidationFailure')) await this.findById(id);
        throw error;
      }
    });
    return document === null ? undefined : throwIfDamaged(toApiKey(document));
  }

  #retry<T>(work: () => Promise<T>): Promise<T> {
    return this.#reads.watch.withDeadline(this.#timeoutMs, (deadline) => deadline.retry(work));
  }
}

/** Copies the key, because the caller may change it during the call. */
function toDocument(key: ApiKey): ApiKeyDocument {
  const { id: _id, ...fields } = structuredClone(storedApiKey(key));
  return { _id, ...fields };
}

/** Copies the document, because several lookups may share it. */
function toApiKey({ _id: id, ...document }: ApiKeyDocument): ApiKey | DamagedApiKey {
  return parseStoredApiKey({ id, ...structuredClone(document) });
}
