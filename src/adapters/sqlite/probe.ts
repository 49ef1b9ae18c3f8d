import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe, StorageState } from '../../application/ports/storage-probe.ts';
import type { GuardedWrite } from './file/file-guard.ts';
import { retryWhileBusy } from './retry-while-busy.ts';
import { readVersion, SCHEMA_VERSION, versionProblem } from './schema.ts';
import { INSERT_STATEMENTS } from './statements.ts';
import { transaction } from './transaction.ts';

/** How long an outcome is reused. Anyone may ask for readiness, and every probe waits for the disk. */
const REUSE_MS = 1_000;

/** How long a probe waits for the write lock. A command holds it for a moment. */
const PROBE_TIMEOUT_MS = 1_500;

/** Reads a random pet, too. In a large file its page is most likely not in the cache of the connection. */
const LAST_ID = `SELECT (${INSERT_STATEMENTS.lastId}) AS lastId, (SELECT id FROM pets
  WHERE id >= (SELECT abs(random() % (ifnull(max(id), 0) + 1)) FROM pets) ORDER BY id LIMIT 1)`;

/** Does what requests need: it reads a pet, and commits a write that changes nothing. */
export class SqliteProbe implements StorageProbe {
  readonly #db: DatabaseSync;
  readonly #guardedWrite: GuardedWrite;
  readonly #lastId: StatementSync;
  #outcome: Promise<StorageState> = Promise.resolve({ lastId: 0n });
  #isRunning = false;
  /** On the clock of `performance.now()`. */
  #startedAtMs = -Infinity;

  constructor(db: DatabaseSync, guardedWrite: GuardedWrite) {
    this.#db = db;
    this.#guardedWrite = guardedWrite;
    this.#lastId = db.prepare(LAST_ID);
  }

  /** @throws {StorageUnavailable} */
  check(): Promise<StorageState> {
    const nowMs = performance.now();
    if (!this.#isRunning && nowMs - this.#startedAtMs >= REUSE_MS) {
      this.#startedAtMs = nowMs;
      this.#isRunning = true;
      this.#outcome = this.#probe().finally(() => (this.#isRunning = false));
    }
    return this.#outcome;
  }

  async #probe(): Promise<StorageState> {
    const readAndWrite = () => this.#guardedWrite(() => transaction(this.#db, () => this.#readAndWrite()));
    try {
      return await retryWhileBusy(readAndWrite, PROBE_TIMEOUT_MS);
    } catch (cause) {
      if (cause instanceof StorageUnavailable) throw cause;
      throw new StorageUnavailable('the SQLite file cannot be read and written', { cause });
    }
  }

  #readAndWrite(): StorageState {
    const problem = versionProblem(this.#db, readVersion(this.#db));
    if (problem !== undefined) throw new StorageUnavailable(problem);
    const { lastId } = this.#lastId.get() as StorageState;
    // SQLite writes the page even though the value stays the same.
    this.#db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    return { lastId };
  }
}
