import type { DatabaseSync } from 'node:sqlite';
import type { Finding, StorageInspector } from '../../application/ports/storage-health.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import { damageOf } from './damage.ts';
import { retryAndTranslate } from './retry-while-busy.ts';
import { INSPECTOR_QUERIES } from './statements.ts';

/** Examines a SQLite file. The check of its pages blocks the process: some 3 seconds for a million pets. */
export class SqliteInspector implements StorageInspector {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  async *findings(): AsyncGenerator<Finding> {
    for (const { problem, isInRow } of await retryAndTranslate(() => damageOf(this.#db))) {
      if (!isInRow) yield { about: 'file', problem };
    }
    const problem = await retryAndTranslate(() => this.#counterProblem());
    if (problem !== undefined) yield { about: 'counter of pet ids', problem };
  }

  #counterProblem(): string | undefined {
    const query = this.#db.prepare(INSPECTOR_QUERIES.counter, { returnArrays: true });
    const [assigned, reserved, greatestId] = query.get() as unknown as readonly [unknown, unknown, bigint];
    // The first pet or the first reservation creates it.
    if (assigned === null && reserved === null && greatestId === 0n) return undefined;
    if (!isId(assigned)) return `it must be an integer from 0 to ${MAX_PET_ID}`;
    if (assigned < greatestId) return `it is ${assigned}, less than the greatest id of a pet, ${greatestId}`;
    if (reserved === null) return undefined;
    if (!isId(reserved)) return `the reserved id must be an integer from 0 to ${MAX_PET_ID}`;
    if (assigned < reserved) return `it is ${assigned}, less than the reserved id ${reserved}`;
    return undefined;
  }
}

function isId(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= 0n && value <= MAX_PET_ID;
}
