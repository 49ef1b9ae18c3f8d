import { StorageUnavailable } from '../../src/application/ports/storage-errors.ts';
import { CommitQueue } from '../../src/adapters/sqlite/commit-queue.ts';
import { SqlitePetRepository } from '../../src/adapters/sqlite/pet-repository.ts';
import { ReadCache } from '../../src/adapters/sqlite/read-cache.ts';
import { FaultyDatabase } from './faulty-database.ts';
import { FaultyDisk } from './faulty-disk.ts';
import { PetCallers, type StoredPet } from './pet-callers.ts';
import type { Scenario } from './run-schedule.ts';
import type { Simulation } from './simulation.ts';
import { storageHost } from '../../test/support/storage-host.ts';

/** The longest time that an insert may take. */
const LIMIT_MS = 5_000;

/**
 * Group commit on SQLite: concurrent inserts share a commit and a flush. The scenario tests the real queue of inserts,
 * with a disk that may hang, another program that may take the write lock, and a guard that may refuse a write because
 * a file is missing.
 */
export const petsOnSqlite: Scenario = {
  name: 'pets-on-sqlite',
  flaws: ['loses-commits', 'writes-nothing'],
  states: [
    'commit-during-flush',
    'two-flushes',
    'read-beside-hidden-pets',
    'drain-during-batch',
    'replay',
    'answered-503-stored',
    'answered-503-not-stored',
  ],
  seedsOfRareStates: [],
  begin(simulation, flaw) {
    const database = new FaultyDatabase(simulation, flaw);
    const { connection, real } = database;
    const greatestId = real.prepare('SELECT ifnull(max(id), 0) AS id FROM pets');
    const disk = new FaultyDisk(simulation, () => (greatestId.get() as { id: bigint }).id, flaw);
    const queue = new CommitQueue(connection, {
      guard: createGuard(simulation, disk),
      disk,
      host: storageHost((message) => simulation.note(message)),
      timeoutMs: LIMIT_MS,
    });
    let isClosed = false;
    const petById = real.prepare('SELECT name FROM pets WHERE id = ?');
    const callers = new PetCallers(simulation, {
      repositories: [new SqlitePetRepository(connection, queue, new ReadCache(connection))],
      limitMs: LIMIT_MS,
      isDurable: ({ id, name }) =>
        id <= disk.durableId && !real.isTransaction && petById.get(id)?.['name'] === name,
      showsOnlyDurable: true,
      mayListMiss: () => () => false,
      isOpen: () => !isClosed,
      stored: () => storedPets(database),
    });
    const checkSettled = () => {
      const { pendingInserts } = callers;
      simulation.check(pendingInserts === 0, () => `closed before ${pendingInserts} inserts had settled`);
    };
    database.startLocks(500);
    if (simulation.random.chance(0.2)) {
      simulation.later('close', simulation.random.between(0, 300), () => {
        callers.insertSome(simulation.random.integer(0, 3));
        isClosed = true;
        if (callers.pendingInserts > 0) simulation.noteState('drain-during-batch');
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

/**
 * A model of the guard, which looks for the files of the database before and after each write. At random, the model
 * refuses the write as if a file were missing.
 */
function createGuard(simulation: Simulation, disk: FaultyDisk) {
  const mayRefuse = () => {
    if (simulation.random.chance(simulation.rates.faults / 4))
      throw new StorageUnavailable('a file is missing');
  };
  const before = () => {
    simulation.check(!disk.isCheckpointing, () => 'a commit began during a checkpoint');
    if (disk.isFlushing) simulation.noteState('commit-during-flush');
    mayRefuse();
  };
  return { before, after: mayRefuse };
}

function storedPets({ real }: FaultyDatabase): readonly StoredPet[] {
  const rows = real.prepare('SELECT id, name, category_id, status, idempotency_key FROM pets').all();
  return rows.map(({ id, name, category_id: categoryId, status, idempotency_key: key }) => ({
    ...({ id, name, categoryId, status } as unknown as StoredPet),
    key: key instanceof Uint8Array ? key.toHex() : undefined,
  }));
}
