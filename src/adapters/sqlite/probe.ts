import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import { transaction, whenFree } from './busy.ts';
import type { Guard } from './open-files.ts';
import { readVersion, SCHEMA_VERSION, versionProblem } from './schema.ts';

/** How long an outcome is good for, in milliseconds: anybody may ask, and each probe waits for the disk. */
const PROBE_MS = 1_000;

/** How long a probe waits for another connection that holds the file, in milliseconds: a command does so for a moment. */
const DEADLINE_MS = 1_500;

/** Most likely not in the cache of the connection, where the file is larger than that. */
const ANY_PET = `SELECT id FROM pets WHERE id >= (SELECT abs(random() % (ifnull(max(id), 0) + 1)) FROM pets)
  ORDER BY id LIMIT 1`;

/** Does what requests need: reads, and a write that is durable before it answers and changes nothing. */
export class SqliteProbe implements StorageProbe {
  readonly #db: DatabaseSync;
  readonly #guard: Guard;
  readonly #anyPet: StatementSync;
  #outcome: Promise<void> = Promise.resolve();
  #isOver = true;
  /** On the clock of `performance.now()`. */
  #begun = -Infinity;

  constructor(db: DatabaseSync, guard: Guard) {
    this.#db = db;
    this.#guard = guard;
    this.#anyPet = db.prepare(ANY_PET);
  }

  check(): Promise<void> {
    const now = performance.now();
    if (this.#isOver && now - this.#begun >= PROBE_MS) {
      this.#begun = now;
      this.#isOver = false;
      this.#outcome = this.#probe().finally(() => (this.#isOver = true));
    }
    return this.#outcome;
  }

  async #probe(): Promise<void> {
    try {
      await whenFree(() => this.#guard(() => transaction(this.#db, () => this.#touch())), DEADLINE_MS);
    } catch (cause) {
      if (cause instanceof StorageUnavailable) throw cause;
      throw new StorageUnavailable('the SQLite file cannot be read and written', { cause });
    }
  }

  #touch(): void {
    const problem = versionProblem(this.#db, readVersion(this.#db));
    if (problem !== undefined) throw new StorageUnavailable(problem);
    this.#anyPet.get();
    // SQLite writes the page although the value is the same.
    this.#db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  }
}
