import { execFileSync } from 'node:child_process';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Checkpointer } from '../../../src/adapters/sqlite/checkpointer.ts';
import { emptyLog } from '../../../src/adapters/sqlite/connection.ts';
import { LogDisk } from '../../../src/adapters/sqlite/log-disk.ts';
import { openFilesIn } from '../../support/open-files.ts';
import {
  checkpointed,
  count,
  newDatabase,
  newFile,
  openService,
  otherConnection,
  silentLog,
} from '../../support/sqlite.ts';
import { rex } from '../../support/pets.ts';

describe('the descriptors of a log', () => {
  it('are two, of the file that the connection has open, and are opened anew after a recovery', async ({
    skip,
  }) => {
    if (process.platform !== 'linux') skip('only Linux lists the open files of a process');
    const { file, db, disk } = await opened();
    count(db);
    const open = async () => (await openFilesIn(dirname(file))).filter((path) => path.endsWith('-wal'));
    const withoutDisk = (await open()).length - 2;

    await Promise.all([disk.flush(), disk.flush()]);
    await disk.recover();

    // The thread of the checkpoints has one, too.
    expect(await open()).toHaveLength(withoutDisk + 3);
    expect(checkpointed(db)).toBeGreaterThan(0n);
    await disk.close();
    expect(await open()).toHaveLength(withoutDisk);
  });

  it('are never of a file that was put in its place', async () => {
    const { file, disk } = await opened();
    await disk.recover();
    await rename(`${file}-wal`, `${file}-moved`);
    await writeFile(`${file}-wal`, '');

    await expect(disk.recover()).rejects.toMatchObject({ kind: 'storage-unavailable' });

    await rename(`${file}-moved`, `${file}-wal`);
    await disk.recover();
    await disk.close();
  });
});

describe('beside a service', () => {
  it('another SQLite may write and close the file, and the service keeps its locks and its log', async () => {
    const file = await newFile();
    const { pets } = await openService(file);
    await pets.insert(rex);
    const { ino } = await stat(`${file}-wal`);
    const write = `
      const db = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)});
      db.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");
      db.close();`;

    execFileSync(process.execPath, ['-e', write]);

    // The last connection that closes a file removes its log.
    expect(await stat(`${file}-wal`)).toMatchObject({ ino });
    expect((await pets.insert(rex)).id).toBe(3n);
    expect((await pets.list({ limit: 9 })).map(({ name }) => name)).toStrictEqual(['Rex', 'Tom', 'Rex']);
  });
});

describe('a start', () => {
  it('empties a log that a killed service has left, before anything is shown', async () => {
    const { file, db } = await newDatabase();
    db.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");
    const before = await stat(`${file}-wal`);

    const { pets } = await openService(file);

    expect(await pets.list({ limit: 9 })).toHaveLength(1);
    expect((await stat(`${file}-wal`)).size).toBeLessThan(before.size);
    // The pet is in the file itself.
    expect((await readFile(file)).includes('Tom')).toBe(true);
  });

  it('waits while another program reads what is not in the file yet', async () => {
    const { file, db } = await newDatabase();
    const reader = otherConnection(file, { readOnly: true });
    reader.exec('BEGIN; SELECT count(*) FROM pets');
    db.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");

    expect(() => emptyLog(db)).toThrow(expect.objectContaining({ errcode: 5 }));

    reader.exec('COMMIT');
    emptyLog(db);
    expect((await stat(`${file}-wal`)).size).toBe(0);
  });
});

async function opened() {
  const { file, db } = await newDatabase();
  const { ino } = await stat(`${file}-wal`, { bigint: true });
  return { file, db, disk: new LogDisk(`${file}-wal`, ino, new Checkpointer(db, file, silentLog)) };
}
