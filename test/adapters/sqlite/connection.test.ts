import { link, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, fileOf, makeDurable } from '../../../src/adapters/sqlite/connection.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { newFile } from '../../support/sqlite.ts';

describe('connect', () => {
  it('leaves a file that it refuses closed', async ({ skip }) => {
    if (process.platform !== 'linux') skip('only Linux lists the open files of a process');
    const file = await newFile();
    await writeFile(file, '');
    await link(file, `${file}2`);

    expect(() => connect(file, { readOnly: false })).toThrow(StorageSetupError);

    expect(await openFilesIn(dirname(file))).toStrictEqual([]);
  });
});

describe('makeDurable', () => {
  it('makes a commit wait for the disk', async () => {
    const db = connect(await newFile(), { readOnly: false });
    onTestFinished(() => db.close());
    // No test can cut the power. With these settings SQLite promises to survive it.
    db.exec('PRAGMA synchronous = NORMAL');
    makeDurable(db);

    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2n });
    expect(db.prepare('PRAGMA fullfsync').get()).toEqual({ fullfsync: 1n });
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });

  it('refuses a file system without shared memory', async ({ skip }) => {
    if (process.platform === 'win32') skip('the VFS of SQLite without shared memory is for Unix');
    const file = await newFile();
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
});

describe('fileOf', () => {
  it('refuses a database in memory', () => {
    using db = new DatabaseSync(':memory:');

    expect(() => fileOf(db)).toThrow(new StorageSetupError('the SQLite database has no file'));
  });
});
