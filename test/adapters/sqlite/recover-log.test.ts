import { statSync } from 'node:fs';
import { readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, vi } from 'vitest';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import {
  countPets,
  expectPending,
  integrityOf,
  fileAfterKill,
  newPath,
  openKeys,
  openService,
  otherConnection,
  silentHost,
} from '../../support/sqlite.ts';
import { numbers } from '../../support/numbers.ts';
import { rex, insertPets } from '../../support/pets.ts';

/** Runs a service that is killed after this number of inserts. Resolves with its file. */
async function killedService(inserts: number): Promise<string> {
  return fileAfterKill(({ pets }) => insertPets(pets, ...numbers(inserts).map(() => ({}))));
}

it.each([
  ['a service', openService],
  ['a command for keys, even one that changes nothing', openKeys],
])('the log of a killed service is moved into the file, and synced, by %s', async (_, open) => {
  const file = await killedService(3);
  expect((await readFile(file)).includes('Rex')).toBe(false);

  const { pets } = await open(file);

  expect((await readFile(file)).includes('Rex')).toBe(true);
  expect(await pets.list({ limit: 9 })).toHaveLength(3);
});

it('a log whose end is lost is moved up to its last complete commit, even if the -shm file still has an index of the end', async () => {
  const file = await killedService(3);
  const log = await readFile(`${file}-wal`);
  const service = otherConnection(file, { readOnly: true });
  expect(countPets(service)).toBe(3n);
  const shm = await readFile(`${file}-shm`);
  service.close();
  // As after a failed write of the kernel: it drops the new page, and later reads the old one from the disk.
  await writeFile(`${file}-wal`, log.fill(0, log.length - 4_000));
  await writeFile(`${file}-shm`, shm);

  const { pets } = await openService(file);

  expect(await pets.list({ limit: 9 })).toHaveLength(2);
  expect(integrityOf(file)).toBe('ok');
});

// On ext4, a page whose first write failed stays zeros on the disk, even if it is written again at the same place.
it.each([
  ['cut off, if the log has all its pages', 40, 1],
  ['kept, if the log lacks its last page', 41, 41],
])(
  'a checkpoint begins after the log has a new file and the end of the database is %s',
  async (_, pagesBefore, pagesLeft) => {
    const file = await killedService(40);
    const wal = `${file}-wal`;
    const log = await readFile(wal);
    const { ino } = await stat(wal);
    // Each frame of the log has one page of the database. A `.partial` file of a killed start must not prevent this
    // start.
    const pages = new Set(
      Array.from({ length: (log.length - 32) / 4_120 }, (__, n) => log.readUInt32BE(32 + n * 4_120)),
    );
    await writeFile(`${wal}.partial`, 'half');
    await truncate(file, (pages.size + pagesBefore - 40) * 4_096);
    const atCheckpoint: unknown[] = [];
    const { exec } = DatabaseSync.prototype;
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql,
    ) {
      if (sql.includes('TRUNCATE')) atCheckpoint.push(statSync(file).size / 4_096, statSync(wal).ino === ino);
      exec.call(this, sql);
    });

    const { pets } = await openService(file);
    spy.mockRestore();

    expect(atCheckpoint).toStrictEqual([pagesLeft === 1 ? 1 : pages.size + 1, false]);
    expect(await pets.list({ limit: 99 })).toHaveLength(40);
  },
);

it('a start waits until another program closes the file', async () => {
  const file = await killedService(1);
  const reader = otherConnection(file, { readOnly: true });
  expect(countPets(reader)).toBe(1n);
  const starting = openService(file);
  await expectPending(starting);

  reader.close();

  expect(await (await starting).pets.list({ limit: 9 })).toHaveLength(1);
});

it('a start is refused after 5 s if another program still has the file open, and the log stays unchanged', async () => {
  const file = await killedService(1);
  const reader = otherConnection(file, { readOnly: true });
  expect(countPets(reader)).toBe(1n);
  const log = await readFile(`${file}-wal`);

  await expect(openSqliteStorage(file, silentHost)).rejects.toMatchObject({
    kind: 'storage-setup',
    message: `the SQLite file ${file} was not closed, and another program has it open; stop that program and try again`,
  });

  expect((await readFile(`${file}-wal`)).equals(log)).toBe(true);
}, 10_000);

it('a command for API keys moves no page of the log into the file, even if the service ended while the command ran', async () => {
  const file = await newPath();
  const service = await openSqliteStorage(file, silentHost);
  await service.pets.insert(rex);
  const keys = await openKeys(file);
  await service.close();
  const other = otherConnection(file);
  other.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");
  const { size } = await stat(`${file}-wal`);
  other.close();
  await keys.close();

  expect((await stat(`${file}-wal`)).size).toBe(size);
  expect((await readFile(file)).includes('Tom')).toBe(false);
});
