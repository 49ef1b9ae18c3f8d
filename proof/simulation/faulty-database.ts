import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { migrateSchema } from '../../src/adapters/sqlite/schema.ts';
import { numbers } from '../../test/support/numbers.ts';
import type { Simulation } from './simulation.ts';

/** Result codes of SQLite: https://www.sqlite.org/rescode.html */
const BUSY = 5;
const IOERR = 10;
const FULL = 13;

/** Errors after which SQLite rolls the transaction back itself: https://www.sqlite.org/lang_transaction.html */
const CODES_WITH_ROLLBACK: ReadonlySet<number> = new Set([IOERR, FULL]);

/**
 * A SQLite database in memory that fails now and then. Another connection may hold the write lock for a while. Any
 * statement that writes, and any BEGIN and COMMIT, may fail before it has an effect.
 *
 * Flaw: `loses-commits` (the database reports a commit, but has rolled the transaction back).
 */
export class FaultyDatabase {
  /** The database without failures. The checks of the simulation read it. */
  readonly real: DatabaseSync;
  readonly #simulation: Simulation;
  readonly #losesCommits: boolean;
  #lockedUntilMs = -Infinity;

  constructor(simulation: Simulation, flaw: string | undefined) {
    this.#simulation = simulation;
    this.#losesCommits = flaw === 'loses-commits';
    this.real = new DatabaseSync(':memory:', { readBigInts: true });
    migrateSchema(this.real);
  }

  /** The part of the connection that the code under test uses. */
  get connection(): DatabaseSync {
    return this as unknown as DatabaseSync;
  }

  location(): string {
    return 'petstore.db';
  }

  get isTransaction(): boolean {
    return this.real.isTransaction;
  }

  /** Lets another connection take the write lock now and then. */
  startLocks(withinMs: number): void {
    const { random } = this.#simulation;
    for (const _ of numbers(random.pick([0, 0, 1, 3]))) {
      const durationMs = random.chance(0.7) ? random.between(1, 100) : random.between(100, 20_000);
      const name = `another connection writes for ${durationMs.toFixed(3)} ms`;
      this.#simulation.later(name, random.between(0, withinMs), () => {
        this.#lockedUntilMs = this.#simulation.nowMs + durationMs;
      });
    }
  }

  exec(sql: string): void {
    const { random } = this.#simulation;
    if (sql.startsWith('BEGIN')) this.#refuseWhileLocked();
    if (sql === 'ROLLBACK') this.real.exec(sql);
    else if (sql === 'COMMIT' && this.#losesCommits && random.chance(0.1)) this.real.exec('ROLLBACK');
    else {
      this.#mayFail();
      this.real.exec(sql);
    }
  }

  prepare(...args: Parameters<DatabaseSync['prepare']>): StatementSync {
    const statement = this.real.prepare(...args);
    if (!/^(?:INSERT|UPDATE)/.test(args[0])) return statement;
    const run = statement.run.bind(statement) as (...values: SQLInputValue[]) => unknown;
    const all = statement.all.bind(statement) as (...values: SQLInputValue[]) => unknown;
    const mayFail =
      (work: (...values: SQLInputValue[]) => unknown) =>
      (...values: SQLInputValue[]) => {
        this.#mayRefuseWrite();
        return work(...values);
      };
    Object.assign(statement, { run: mayFail(run), all: mayFail(all) });
    return statement;
  }

  #mayRefuseWrite(): void {
    if (!this.isTransaction) this.#refuseWhileLocked();
    // A batch has many statements, so each of them fails less often.
    if (this.#simulation.random.chance(0.2)) this.#mayFail();
  }

  #refuseWhileLocked(): void {
    if (this.#simulation.nowMs < this.#lockedUntilMs) throw this.#failure(BUSY);
  }

  #mayFail(): void {
    const { random, rates } = this.#simulation;
    if (!random.chance(rates.faults)) return;
    const code = random.pick([BUSY, IOERR, FULL]);
    if (CODES_WITH_ROLLBACK.has(code) && this.isTransaction && random.chance(0.5)) this.real.exec('ROLLBACK');
    throw this.#failure(code);
  }

  #failure(errcode: number): Error {
    this.#simulation.note(`SQLite fails with ${errcode}`);
    return Object.assign(new Error(`code ${errcode}`), { code: 'ERR_SQLITE_ERROR', errcode });
  }
}
