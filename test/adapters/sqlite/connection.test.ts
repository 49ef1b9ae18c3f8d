import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { makeDurable } from '../../../src/adapters/sqlite/connection.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { newDatabase, newPath } from '../../support/sqlite.ts';

it('makeDurable makes each commit wait for the disk', async () => {
  const { db } = await newDatabase();
  // A test cannot cut the power. SQLite promises that commits survive a power cut with these settings.
  db.exec('PRAGMA synchronous = NORMAL');
  makeDurable(db);

  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2n });
  expect(db.prepare('PRAGMA fullfsync').get()).toEqual({ fullfsync: 1n });
  expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
});

it('makeDurable refuses a file system without shared memory', async ({ skip }) => {
  if (process.platform === 'win32') skip('the VFS of SQLite without shared memory is for Unix');
  const file = await newPath();
  const url = pathToFileURL(file);
  url.searchParams.set('vfs', 'unix-dotfile');
  using db = new DatabaseSync(url);

  expect(() => makeDurable(db)).toThrow(
    new StorageSetupError(
      `the SQLite file ${file} is on a file system without shared memory, which WAL mode needs; ` +
        'move it to a local disk',
    ),
  );
});
