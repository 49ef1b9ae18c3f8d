import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ApiKeyIdTaken } from '../../application/keys/errors.ts';
import type { DamagedApiKey } from '../../application/keys/errors.ts';
import { parseStoredApiKey, throwIfDamaged } from '../../application/keys/parse-stored-api-key.ts';
import { type ApiKeyRepository, USE_INTERVAL_MS } from '../../application/ports/api-key-repository.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { BUSY_DEADLINE_MS, transaction, whenReady } from './busy.ts';
import { translated } from './errors.ts';
import { type Guard, unguarded, type WriteOptions } from './open-files.ts';
import { type ApiKeyRow, KEY_STATEMENTS } from './statements.ts';

/**
 * API keys in a SQLite file. Reads are done at once. Writes wait for another connection that holds the file: the
 * command line writes keys while a service has it open.
 */
export class SqliteApiKeyRepository implements ApiKeyRepository {
  readonly #db: DatabaseSync;
  readonly #deadlineMs: number;
  readonly #guard: Guard;
  readonly #insert: StatementSync;
  readonly #byId: StatementSync;
  readonly #list: StatementSync;
  readonly #revoke: StatementSync;
  readonly #expire: StatementSync;
  readonly #recordUse: StatementSync;

  constructor(db: DatabaseSync, { deadlineMs = BUSY_DEADLINE_MS, guard = unguarded }: WriteOptions = {}) {
    this.#db = db;
    this.#deadlineMs = deadlineMs;
    this.#guard = guard;
    this.#insert = db.prepare(KEY_STATEMENTS.insert);
    this.#byId = db.prepare(KEY_STATEMENTS.byId);
    this.#list = db.prepare(KEY_STATEMENTS.list);
    this.#revoke = db.prepare(KEY_STATEMENTS.revoke);
    this.#expire = db.prepare(KEY_STATEMENTS.expire);
    this.#recordUse = db.prepare(KEY_STATEMENTS.recordUse);
  }

  async insert(key: ApiKey): Promise<void> {
    const { id, digest } = key;
    const values = toValues(key);
    const { changes } = await this.#write(() => this.#insert.run(...values));
    if (changes !== 0n) return;
    const there = await this.findById(id);
    if (there?.digest !== digest) throw new ApiKeyIdTaken(id);
  }

  async findById(id: string): Promise<ApiKey | undefined> {
    const [key] = read(() => this.#byId.all(id));
    return key && throwIfDamaged(key);
  }

  async list(): Promise<readonly (ApiKey | DamagedApiKey)[]> {
    return read(() => this.#list.all());
  }

  async revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#change(this.#revoke, id, at);
  }

  async expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#change(this.#expire, id, at);
  }

  async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    // Copies: the caller may change what it passed while we wait.
    const copies = Array.from(uses, ([id, at]) => [id, toInteger(at)] as const);
    await this.#write(() =>
      transaction(this.#db, () => {
        for (const [id, at] of copies) this.#recordUse.run(at, id, USE_INTERVAL_MS);
      }),
    );
  }

  async #change(statement: StatementSync, id: string, at: Date): Promise<ApiKey | undefined> {
    const instant = toInteger(at);
    // Else the table might refuse the change of a damaged row, and not say why.
    await this.findById(id);
    // All rows, although there is one at most: `get` would stop before the commit and not hear that it failed.
    const [row] = await this.#write(() => statement.all(instant, id) as ApiKeyRow[]);
    return row && throwIfDamaged(toKey(row));
  }

  async #write<T>(work: () => T): Promise<T> {
    return whenReady(() => this.#guard(work), this.#deadlineMs);
  }
}

function read(query: () => ReturnType<StatementSync['all']>): readonly (ApiKey | DamagedApiKey)[] {
  try {
    return (query() as ApiKeyRow[]).map(toKey);
  } catch (error) {
    throw translated(error);
  }
}

/** In the order of the columns. */
function toValues(key: ApiKey) {
  const { id, digest, label, scopes, createdAt, expiresAt, rateLimit, revokedAt, lastUsedAt } = key;
  return [
    id,
    // What is not 64 hex digits becomes shorter, which the table refuses.
    Buffer.from(digest, 'hex'),
    label,
    scopes.join(' '),
    toInteger(createdAt),
    expiresAt === undefined ? null : toInteger(expiresAt),
    rateLimit?.requests ?? null,
    rateLimit?.seconds ?? null,
    revokedAt === undefined ? null : toInteger(revokedAt),
    lastUsedAt === undefined ? null : toInteger(lastUsedAt),
  ] as const;
}

/** Throws where the date is invalid: a number that is none would become NULL, which means never. */
function toInteger(time: Date): bigint {
  return BigInt(time.getTime());
}

function toKey(row: ApiKeyRow): ApiKey | DamagedApiKey {
  const { id, digest, label, scopes, requests, seconds } = row;
  return parseStoredApiKey({
    id,
    digest: digest instanceof Uint8Array ? digest.toHex() : digest,
    label,
    scopes: typeof scopes === 'string' ? scopes.split(' ') : scopes,
    createdAt: toDate(row.created_at),
    expiresAt: toDate(row.expires_at),
    rateLimit:
      requests === null && seconds === null
        ? undefined
        : { requests: toNumber(requests), seconds: toNumber(seconds) },
    revokedAt: toDate(row.revoked_at),
    lastUsedAt: toDate(row.last_used_at),
  });
}

// What is no integer stays what it is, to be refused.

function toDate(ms: unknown): unknown {
  if (ms === null) return undefined;
  return typeof ms === 'bigint' ? new Date(Number(ms)) : ms;
}

function toNumber(integer: unknown): unknown {
  return typeof integer === 'bigint' ? Number(integer) : integer;
}
