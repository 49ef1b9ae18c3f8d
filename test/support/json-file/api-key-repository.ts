import { ApiKeyIdTaken } from '../../../src/application/keys/errors.ts';
import { parseStoredApiKey, throwIfDamaged } from '../../../src/application/keys/stored-keys.ts';
import { type ApiKeyRepository, USE_INTERVAL_MS } from '../../../src/application/ports/api-key-repository.ts';
import { type ApiKey, storedApiKey } from '../../../src/domain/api-key.ts';
import type { JsonFile, KeyRecord } from './json-file.ts';

const TIMES = ['createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'] as const;

export class JsonApiKeyRepository implements ApiKeyRepository {
  readonly #file: JsonFile;

  constructor(file: JsonFile) {
    this.#file = file;
  }

  async insert(key: ApiKey): Promise<void> {
    this.#file.change(({ keys }) => {
      const there = keys.find(({ id }) => id === key.id);
      if (there === undefined) keys.push(toRecord(storedApiKey(key)));
      else if (there['digest'] !== key.digest) throw new ApiKeyIdTaken(key.id);
    });
  }

  async findById(id: string): Promise<ApiKey | undefined> {
    const record = this.#file.read().keys.find((one) => one.id === id);
    return record && throwIfDamaged(toKey(record));
  }

  async list(): ReturnType<ApiKeyRepository['list']> {
    const keys = this.#file.read().keys.toSorted((a, b) => order(a) - order(b) || (a.id < b.id ? -1 : 1));
    return keys.map(toKey);
  }

  async revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#change(id, ({ revokedAt = at }) => ({ revokedAt: earlier(revokedAt, at) }));
  }

  async expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#change(id, ({ expiresAt = at }) => ({ expiresAt: earlier(expiresAt, at) }));
  }

  async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    this.#file.change(({ keys }) => {
      for (const [index, record] of keys.entries()) {
        const at = uses.get(record.id);
        const lastMs = Number(record['lastUsedAt'] ?? -Infinity);
        if (at === undefined || at.getTime() - lastMs < USE_INTERVAL_MS) continue;
        keys[index] = { ...record, lastUsedAt: at.getTime() };
      }
    });
  }

  #change(id: string, change: (key: ApiKey) => Partial<ApiKey>): ApiKey | undefined {
    return this.#file.change(({ keys }) => {
      const index = keys.findIndex((one) => one.id === id);
      const record = keys[index];
      if (record === undefined) return undefined;
      const key = throwIfDamaged(toKey(record));
      const changed = { ...key, ...change(key) };
      keys[index] = toRecord(changed);
      return changed;
    });
  }
}

function toRecord(key: ApiKey): KeyRecord {
  const times = TIMES.map((name) => [name, key[name]?.getTime()]);
  return { ...key, ...Object.fromEntries(times) };
}

function toKey(record: KeyRecord): ReturnType<typeof parseStoredApiKey> {
  const times = TIMES.flatMap((name) => {
    const ms = record[name];
    return ms === undefined ? [] : [[name, new Date(ms as number)]];
  });
  return parseStoredApiKey({ ...record, ...Object.fromEntries(times) });
}

function order({ createdAt }: KeyRecord): number {
  return Number(createdAt);
}

function earlier(a: Date, b: Date): Date {
  return a <= b ? a : b;
}
