import { existsSync, statSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { OnProgress } from '../../application/ports/pet-archive.ts';
import { fileFormatOf, resolveLinks } from '../files/database-files.ts';
import { createDirectory, sync } from '../files/sync.ts';
import { writeWholeFile } from '../files/write-whole-file.ts';
import { copySound, openSnapshot } from './backup.ts';
import { fileOf } from './connection.ts';
import { schemaProblems } from './damage.ts';
import { takeServiceLock } from './file/service-lock.ts';
import { openOrRelease } from './open.ts';

/**
 * Puts a backup in the place of a database, or where there is none. What it replaces is kept under another name.
 *
 * A crash leaves the old database, the new one, or a state that `connect` refuses: the old one with a second name, or
 * the new one in rollback mode beside the old WAL. From each, another restore succeeds. What is kept is complete before
 * anything is removed. The old WAL goes last: a start would take a missing file without a WAL for a new database.
 *
 * @returns the new name of the old database; `undefined` when there was none
 * @throws {StorageSetupError} when the backup is damaged, of another build or not self-contained, when a service uses
 *   the database, or when it cannot be written
 */
export async function restore(to: string, from: string, onProgress: OnProgress): Promise<string | undefined> {
  return openOrRelease(to, async () => {
    const file = resolveLinks(to);
    refuseOtherThanBackup(resolveLinks(from), file);
    using source = await openSnapshot(from);
    refuseOtherSchema(source);
    await createDirectory(dirname(file));
    using held = new DisposableStack();
    held.use(await takeServiceLock(file));
    const suffixes = ['', '-wal', '-journal'].filter((suffix) => existsSync(file + suffix));
    const kept = `${file}.before-restore-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
    const partial = `${file}.restoring`;
    await using undo = new AsyncDisposableStack();
    await writeWholeFile(file, {
      partial,
      // What a killed restore has left. This one holds the lock.
      check: () => rm(partial, { force: true }),
      write: (copy) => copySound(source, copy, 'restoring', onProgress),
      async beforeRename() {
        for (const suffix of suffixes) {
          await link(file + suffix, kept + suffix);
          // Unless it is the last name of its file.
          undo.defer(() => (statSync(kept + suffix).nlink > 1 ? rm(kept + suffix) : undefined));
        }
        await sync(dirname(file));
        // SQLite would roll it back into the new file.
        await rm(`${file}-journal`, { force: true });
      },
    });
    undo.move();
    for (const suffix of ['-wal', '-shm']) await rm(file + suffix, { force: true });
    await sync(dirname(file));
    return suffixes.length === 0 ? undefined : kept;
  });
}

/** @throws {StorageSetupError} */
function refuseOtherThanBackup(backup: string, file: string): void {
  const [old, other] = [statSync(file, { throwIfNoEntry: false }), statSync(backup)];
  if (old?.ino === other.ino && old.dev === other.dev) {
    throw new StorageSetupError(`${backup} is the database itself; choose a backup`);
  }
  const isAlone = !['-wal', '-journal'].some((suffix) => existsSync(backup + suffix));
  // What is no database is refused when it is opened.
  if (isAlone && fileFormatOf(backup) !== 2) return;
  throw new StorageSetupError(
    `${backup} is not a backup; make one of it with petstore backup --from sqlite:${backup} NEW, and restore NEW`,
  );
}

/** @throws {StorageSetupError} */
function refuseOtherSchema(source: DatabaseSync): void {
  const [problem] = schemaProblems(source);
  if (problem === undefined) return;
  throw new StorageSetupError(
    `the SQLite file ${fileOf(source)} is damaged (${problem}); nothing was written`,
  );
}
