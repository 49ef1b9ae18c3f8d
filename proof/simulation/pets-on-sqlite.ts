import type { DatabaseSync } from 'node:sqlite';
import { StorageUnavailable } from '../../src/application/ports/storage-errors.ts';
import { transaction } from '../../src/adapters/sqlite/connection.ts';
import type { GuardedWrite } from '../../src/adapters/sqlite/file-guard.ts';
import { InsertQueue } from '../../src/adapters/sqlite/insert-queue.ts';
import { SqlitePetRepository } from '../../src/adapters/sqlite/pet-repository.ts';
import { ReadCache } from '../../src/adapters/sqlite/read-cache.ts';
import { FaultyDatabase } from './faulty-database.ts';
import { PetCallers, type StoredPet } from './pet-callers.ts';
import type { Scenario } from './run-schedule.ts';
import type { Simulation } from './simulation.ts';

/** How long an insert waits for the write lock. */
const LIMIT_MS = 5_000;

/** An attempt may begin just before the deadline, after a pause of 5 ms. */
const LAST_ATTEMPT_MS = 10;

/** Group commit in SQLite: the insert queue, a disk and a lock that fail, a guard that refuses. */
export const petsOnSqlite: Scenario = {
  name: 'pets-on-sqlite',
  flaws: ['loses-commits'],
  states: ['replay', 'unavailable-stored', 'unavailable-not-stored'],
  rareSeeds: [],
  begin(simulation, flaw) {
    const database = new FaultyDatabase(simulation, flaw);
    const { connection, real } = database;
    const queue = new InsertQueue(connection, guard(simulation, connection), undefined, LIMIT_MS);
    let isClosed = false;
    const byId = real.prepare('SELECT name FROM pets WHERE id = ?');
    const callers = new PetCallers(simulation, {
      repositories: [new SqlitePetRepository(connection, queue, new ReadCache(connection))],
      limitMs: LIMIT_MS + LAST_ATTEMPT_MS,
      isDurable: ({ id, name }) => !real.isTransaction && byId.get(id)?.['name'] === name,
      mayListMiss: () => () => false,
      isOpen: () => !isClosed,
      stored: () => storedIn(database),
    });
    const checkSettled = () => {
      const { pendingInserts } = callers;
      simulation.check(pendingInserts === 0, () => `closed before ${pendingInserts} inserts have settled`);
    };
    database.startLocks(500);
    if (simulation.random.chance(0.2)) {
      simulation.later('close', simulation.random.between(0, 300), () => {
        callers.insertSome(simulation.random.integer(0, 3));
        isClosed = true;
        void queue.close().then(() => simulation.later('closed', 0, checkSettled));
      });
    }
    void callers.start();
    return () => {
      callers.verify();
      real.close();
    };
  },
};

/** The guard of the file refuses a write before it, or after it when the file was removed during the write. */
function guard(simulation: Simulation, connection: DatabaseSync): GuardedWrite {
  const mayRefuse = () => {
    if (simulation.random.chance(simulation.weather.faults / 4))
      throw new StorageUnavailable('a file is missing');
  };
  return (write) => {
    mayRefuse();
    const result = transaction(connection, write);
    mayRefuse();
    return result;
  };
}

function storedIn({ real }: FaultyDatabase): readonly StoredPet[] {
  const rows = real.prepare('SELECT id, name, category_id, status, idempotency_key FROM pets').all();
  return rows.map(({ id, name, category_id: categoryId, status, idempotency_key: key }) => ({
    ...({ id, name, categoryId, status } as unknown as StoredPet),
    key: key instanceof Uint8Array ? key.toHex() : undefined,
  }));
}
