import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError, StorageUnavailable } from '../../application/errors.ts';
import type { PetArchive, ReadablePetArchive } from '../../application/ports/pet-archive.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import { whenFree } from './busy.ts';
import { connect, fileOf, makeDurable, refuseReadOnly, refuseTruncated } from './connection.ts';
import { setupError } from './errors.ts';
import { InsertQueue } from './insert-queue.ts';
import { takeLock } from './lock.ts';
import { ReadableSqlitePetArchive, SqlitePetArchive } from './pet-archive.ts';
import { SqlitePetRepository } from './pet-repository.ts';
import { migrate, readVersion, versionProblem } from './schema.ts';

export type SqliteStorage = {
  readonly pets: PetRepository;
  readonly archive: PetArchive;
  readonly probe: StorageProbe;
  /** Waits for the inserts that are under way. */
  close(): Promise<void>;
};

/**
 * Opens the file for a service, makes it and its directory where there is none, and brings its schema up to date.
 *
 * @throws {StorageSetupError} also when another service has it open
 */
export async function openSqliteStorage(path: string): Promise<SqliteStorage> {
  // Absolute, so that neither `:memory:` nor `file:…?mode=memory` means something else than a file of that name.
  const file = resolve(path);
  using opened = new DisposableStack();
  try {
    mkdirSync(dirname(file), { recursive: true });
    const db = opened.use(connect(file, { readOnly: false }));
    refuseReadOnly(db);
    // Before anything is written into or beside what may be the file of another application.
    await whenFree(() => readVersion(db));
    // To be released last, when the connection is closed.
    const lock = opened.use(takeLock(fileOf(db)));
    refuseTruncated(db);
    await whenFree(() => makeDurable(db));
    await whenFree(() => migrate(db));
    const inserts = new InsertQueue(db);
    const pets = new SqlitePetRepository(db, inserts);
    const archive = new SqlitePetArchive(db);
    opened.move();
    return {
      pets,
      archive,
      probe: { check: async () => check(db) },
      async close() {
        await inserts.close();
        db[Symbol.dispose]();
        lock[Symbol.dispose]();
      },
    };
  } catch (error) {
    throw setupError(file, error);
  }
}

/** A catalogue that can be read while a service has it open, and while none has. */
export type SqliteReading = {
  readonly pets: Pick<PetRepository, 'findById' | 'list'>;
  readonly archive: ReadablePetArchive;
  close(): Promise<void>;
};

/** @throws {StorageSetupError} also when there is no such file, or its schema is not that of this build */
export async function openSqliteForReading(path: string): Promise<SqliteReading> {
  const file = resolve(path);
  using opened = new DisposableStack();
  try {
    const db = opened.use(connect(file, { readOnly: true }));
    const problem = versionProblem(db, await whenFree(() => readVersion(db)));
    if (problem !== undefined) throw new StorageSetupError(problem);
    const pets = new SqlitePetRepository(db, new InsertQueue(db));
    const archive = new ReadableSqlitePetArchive(db);
    opened.move();
    return { pets, archive, close: async () => db[Symbol.dispose]() };
  } catch (error) {
    throw setupError(file, error);
  }
}

function check(db: DatabaseSync): void {
  let problem: string | undefined;
  try {
    problem = versionProblem(db, readVersion(db));
  } catch (error) {
    throw new StorageUnavailable('the SQLite file cannot be read', { cause: error });
  }
  if (problem !== undefined) throw new StorageUnavailable(problem);
}
