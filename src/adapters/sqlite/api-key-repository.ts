import type { DatabaseSync } from 'node:sqlite';
import { ApiKeyIdTaken } from '../../application/keys/errors.ts';
import { DamagedApiKey } from '../../application/ports/storage-errors.ts';
import { throwIfDamaged } from '../../application/keys/stored-keys.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { endedKey, isUseDue, storedApiKey, type ApiKey } from '../../domain/api-key.ts';
import type { DurableWrite } from './commit-queue.ts';
import { runAndTranslate } from './errors.ts';
import { type ApiKeyRow, toColumns, toKey } from './api-key-row.ts';
import { KEY_STATEMENTS, prepareAll, type Prepared } from './statements.ts';

/** A write may wait for the lock of a command that changes keys. */
export class SqliteApiKeyRepository implements ApiKeyRepository {
  readonly #write: DurableWrite;
  readonly #statements: Prepared<typeof KEY_STATEMENTS>;

  constructor(db: DatabaseSync, write: DurableWrite) {
    this.#write = write;
    this.#statements = prepareAll(db, KEY_STATEMENTS);
  }

  async insert(key: ApiKey): Promise<void> {
    const { id, digest } = key;
    const columns = toColumns(key);
    const { changes } = await this.#write(() => this.#statements.insert.run(columns));
    if (changes !== 0n) return;
    const stored = await this.findById(id);
    if (stored?.digest !== digest) throw new ApiKeyIdTaken(id);
  }

  async findById(id: string): Promise<ApiKey | undefined> {
    const key = runAndTranslate(() => this.#stored(id));
    return key && throwIfDamaged(key);
  }

  async list(): Promise<readonly (ApiKey | DamagedApiKey)[]> {
    return runAndTranslate(() => (this.#statements.list.all() as ApiKeyRow[]).map(toKey));
  }

  async revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#endKey(id, 'revokedAt', new Date(at));
  }

  async expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#endKey(id, 'expiresAt', new Date(at));
  }

  async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    // Copies, because the caller may change its objects during the wait.
    const copies = Array.from(uses, ([id, at]) => [id, new Date(at)] as const);
    await this.#write(() => {
      for (const [id, at] of copies) {
        const key = this.#stored(id);
        if (key === undefined || key instanceof DamagedApiKey) continue;
        if (isUseDue(key, at)) this.#store({ ...key, lastUsedAt: at });
      }
    });
  }

  async #endKey(id: string, field: 'revokedAt' | 'expiresAt', at: Date): Promise<ApiKey | undefined> {
    return this.#write(() => {
      const key = this.#stored(id);
      return key && this.#store(endedKey(throwIfDamaged(key), field, at));
    });
  }

  #stored(id: string): ApiKey | DamagedApiKey | undefined {
    const row = this.#statements.byId.get(id) as ApiKeyRow | undefined;
    return row && toKey(row);
  }

  /** Call it in the transaction that has read the key. */
  #store(key: ApiKey): ApiKey {
    const { id, expires_at, revoked_at, last_used_at, checksum } = toColumns(key);
    this.#statements.update.run(expires_at, revoked_at, last_used_at, checksum, id);
    return storedApiKey(key);
  }
}
