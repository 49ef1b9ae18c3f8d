import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { migrate } from '../../src/adapters/sqlite/schema.ts';
import type { Simulation } from './simulation.ts';

/** Result codes of SQLite: https://www.sqlite.org/rescode.html */
const BUSY = 5;
const IOERR = 10;
const FULL = 13;

/** Errors after which SQLite rolls the transaction back itself: https://www.sqlite.org/lang_transaction.html */
const ROLLS_BACK: ReadonlySet<number> = new Set([IOERR, FULL]);

/**
 * A SQLite database in memory whose disk and whose lock fail: the lock may be held by another connection for a while,
 * and any statement may fail before its effect. A commit may also fail after it, because the disk did not confirm it.
 *
 * Its flaw `loses-commits` reports a commit that it has rolled back.
 */
export class FaultyDatabase {
  /** What the file holds. For the checks. */
  readonly real: DatabaseSync;
  readonly #simulation: Simulation;
  readonly #losesCommits: boolean;
  #lockedUntilMs = -Infinity;

  constructor(simulation: Simulation, flaw: string | undefined) {
    this.#simulation = simulation;
    this.#losesCommits = flaw === 'loses-commits';
    this.real = new DatabaseSync(':memory:', { readBigInts: true });
    migrate(this.real);
  }

  /** The part of the connection that the code under test uses. */
  get connection(): DatabaseSync {
    return this as unknown as DatabaseSync;
  }

  get isTransaction(): boolean {
    return this.real.isTransaction;
  }

  /** Another connection takes the write lock. */
  lock(durationMs: number): void {
    this.#simulation.note(`locked for ${durationMs.toFixed(3)} ms`);
    this.#lockedUntilMs = this.#simulation.nowMs + durationMs;
  }

  exec(sql: string): void {
    const { random, weather } = this.#simulation;
    if (sql.startsWith('BEGIN') && this.#simulation.nowMs < this.#lockedUntilMs) throw this.#failure(BUSY);
    if (sql === 'ROLLBACK') this.real.exec(sql);
    else if (sql === 'COMMIT' && this.#losesCommits && random.chance(0.1)) this.real.exec('ROLLBACK');
    else {
      this.#mayFail();
      this.real.exec(sql);
      if (sql === 'COMMIT' && random.chance(weather.faults / 4)) throw this.#failure(IOERR);
    }
  }

  prepare(...args: Parameters<DatabaseSync['prepare']>): StatementSync {
    const statement = this.real.prepare(...args);
    const run = statement.run.bind(statement);
    statement.run = (...values: Parameters<typeof run>) => {
      // A batch has many statements.
      if (this.#simulation.random.chance(0.2)) this.#mayFail();
      return run(...values);
    };
    return statement;
  }

  #mayFail(): void {
    const { random, weather } = this.#simulation;
    if (!random.chance(weather.faults)) return;
    const code = random.pick([BUSY, IOERR, FULL]);
    if (ROLLS_BACK.has(code) && this.isTransaction && random.chance(0.5)) this.real.exec('ROLLBACK');
    throw this.#failure(code);
  }

  #failure(errcode: number): Error {
    this.#simulation.note(`SQLite fails with ${errcode}`);
    return Object.assign(new Error(`code ${errcode}`), { code: 'ERR_SQLITE_ERROR', errcode });
  }
}
