import { statSync } from 'node:fs';
import { copyFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { beforeEach, expect, it } from 'vitest';
import { guardFiles } from '../../../src/adapters/sqlite/file-guard.ts';
import { type SqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { aKey } from '../../support/api-keys.ts';
import { anArchivedPet } from '../../support/archived-pets.ts';
import {
  closeAfterTest,
  countPets,
  newDatabase,
  newPath,
  openKeys,
  openService,
  otherConnection,
  silentHost,
  startWriter,
} from '../../support/sqlite.ts';
import { rex } from '../../support/pets.ts';
import { storageHost } from '../../support/storage-host.ts';

const now = new Date(1_800_000_000_000);

const WRITES: readonly [string, (storage: SqliteStorage) => Promise<unknown>][] = [
  ['a pet', async ({ pets }) => pets.insert(rex)],
  ['a key', async ({ keys }) => keys.insert(aKey(2))],
  ['a revocation', async ({ keys }) => keys.revoke(aKey(1).id, now)],
  ['an expiry', async ({ keys }) => keys.expire(aKey(1).id, now)],
  ['the use of a key', async ({ keys }) => keys.recordUse(new Map([[aKey(1).id, now]]))],
  ['an import', async ({ archive }) => archive.write([anArchivedPet({ id: 100n })])],
  ['a reservation', async ({ archive }) => archive.reserve(1000n)],
  ['the probe', async ({ probe }) => probe.check()],
];

let file = '';
let warnings: string[] = [];

beforeEach(async () => {
  file = await newPath();
  warnings = [];
});

it.each(WRITES)('a write fails, and a warning is logged, when the file is missing: %s', async (_, write) => {
  const storage = await open();
  await storage.keys.insert(aKey(1));

  await rm(file);

  await expect(write(storage)).rejects.toThrow(StorageUnavailable);
  expect(warnings).toStrictEqual([refusal('')]);
});

it.each(['', '-wal', '-shm', '.lock'])(
  'writes fail and reads succeed while FILE%s is renamed',
  async (suffix) => {
    const { pets, probe } = await open();
    const pet = await pets.insert(rex);

    await rename(file + suffix, `${file}-moved`);
    for (let n = 0; n < 3; n++) await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
    // Writes still fail when a copy has the name of the renamed file.
    await copyFile(`${file}-moved`, file + suffix);
    await expect(probe.check()).rejects.toStrictEqual(new StorageUnavailable(refusal(suffix)));
    expect(await pets.findById(pet.id)).toStrictEqual(pet);
    await rename(`${file}-moved`, file + suffix);

    const next = await pets.insert(rex);
    expect(await pets.findById(next.id)).toStrictEqual(next);
    // Of the refused writes, only the first one reached the open files, so it used one id.
    expect(next.id).toBe(pet.id + 2n);
    expect(warnings.filter((warning) => warning.startsWith('writes'))).toStrictEqual([refusal(suffix)]);
    expect(warnings.at(-1)).toBe(`${file} and the files beside it are back in place: writes resume`);
  },
);

it('the contents of a removed WAL are saved in the file immediately, so no pet is lost when the process ends', async () => {
  const other = startWriter(file, 4);
  await other.printed(/^50 /m);
  await rm(`${file}-wal`);
  // The next insert fails, and then the program ends. Before that, it saves the acknowledged pets in the file.
  await other.ended;
  const acknowledged = other.stdout.match(/^\d+ \d+ /gm)?.length ?? 0;
  await rm(`${file}-wal`, { force: true });

  expect(acknowledged).toBeGreaterThanOrEqual(50);
  expect(countPets(otherConnection(file))).toBeGreaterThanOrEqual(BigInt(acknowledged));
});

it.each([
  ['is saved', false, 'were'],
  ['cannot be saved beside a reader', true, 'could not be (another program has the file open)'],
])('a removed WAL that %s causes a warning with this outcome', async (_, isRead, outcome) => {
  const { pets } = await open();
  await pets.insert(rex);
  if (isRead) otherConnection(file, { readOnly: true }).exec('BEGIN; SELECT * FROM pets');
  await pets.insert(rex);
  await rm(`${file}-wal`);

  await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);

  expect(warnings.slice(1)).toStrictEqual([
    `the contents of the removed write-ahead log ${file}-wal ${outcome} saved in ${file}`,
  ]);
});

it('a removed WAL is not saved while its -shm file is also missing, and a warning names each missing file', async () => {
  const { pets } = await open();
  for (const suffix of ['-shm', '-wal']) {
    await rm(file + suffix);
    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
  }

  expect(warnings).toStrictEqual([refusal('-shm'), refusal('-wal', '-shm')]);
});

it('a file that is replaced while it is being opened is refused', async () => {
  ({ file } = await newDatabase());
  const ino = inodeOfFile();
  const db = otherConnection(file);
  countPets(db);
  await rename(file, `${file}-original`);
  await copyFile(`${file}-original`, file);

  expect(() => guardFiles(db, silentHost, ino)).toThrow(
    new StorageUnavailable(`${file} was replaced while it was being opened`),
  );
});

it.each(['-wal', '-shm', '.lock'])(
  'a file is refused when FILE%s is removed while it is being opened',
  async (suffix) => {
    ({ file } = await newDatabase());
    const db = otherConnection(file);
    countPets(db);
    await writeFile(`${file}.lock`, '');
    await rm(file + suffix);

    expect(() => guardFiles(db, silentHost, inodeOfFile(), `${file}.lock`)).toThrow(
      new StorageUnavailable(`${file}${suffix} was removed while it was being opened`),
    );
  },
);

it('a service writes no page of its WAL to a renamed file, which another service may use now', async () => {
  const first = await open();
  await first.pets.insert(rex);
  await rename(file, `${file}-elsewhere`);
  await rename(`${file}-wal`, `${file}-elsewhere-wal`);
  const { mtimeMs, size } = await stat(`${file}-elsewhere`);

  const bothMissing = refusal('', '-wal');
  await expect(first.pets.insert(rex)).rejects.toStrictEqual(new StorageUnavailable(bothMissing));
  expect(warnings).toStrictEqual([bothMissing]);
  await first.close();

  expect(await stat(`${file}-elsewhere`)).toMatchObject({ mtimeMs, size });
  const second = await openService(`${file}-elsewhere`);
  expect(await second.pets.list({ limit: 1 })).toStrictEqual([{ id: 1n, ...rex }]);
});

it('the WAL of a renamed file stays when the service stops, so that the file can be moved back beside it', async () => {
  const first = await open();
  await first.pets.insert(rex);
  await rename(file, `${file}-saved`);
  await expect(first.pets.insert(rex)).rejects.toThrow(StorageUnavailable);
  await first.close();
  await rename(`${file}-saved`, file);

  const second = await open();
  expect((await second.pets.list({ limit: 1 }))[0]).toStrictEqual({ id: 1n, ...rex });
});

it('a service whose lock file was removed stops writing, and no second service starts beside its log', async () => {
  const first = await open();
  const before = await first.pets.insert(rex);
  await rm(`${file}.lock`);

  await expect(open()).rejects.toThrow('was not closed, and another program has it open; stop that program');
  // The first service may commit once before it notices that its lock is gone. That does no harm.
  await expect(first.pets.insert(rex)).rejects.toThrow('another service may be using the file now');

  expect(await first.pets.list({ limit: 100 })).toMatchObject([before, { id: before.id + 1n }]);
}, 10_000);

it('a command fails when the file is removed while it writes keys', async () => {
  const { keys } = await closeAfterTest(openKeys(file));
  await keys.insert(aKey(1));
  await rm(file);

  await expect(keys.revoke(aKey(1).id, now)).rejects.toThrow(/was removed, renamed or replaced/);
});

/** Returns the message of a refused write while the files with these suffixes are missing. */
function refusal(...suffixes: readonly string[]): string {
  const advice: Readonly<Record<string, string>> = {
    '':
      `put it back under its name and leave ${file}-wal where it is (reads still work; on Linux the file can be ` +
      `copied from /proc/${process.pid}/fd while this process runs)`,
    '-wal': 'put it back, or stop the service with SIGTERM and start it again',
    '-shm': 'put it back, or stop every program that has the file open',
    '.lock': 'another service may be using the file now; put it back, or stop both services and start one',
  };
  const each = suffixes.map(
    (suffix) => `${file}${suffix} was removed, renamed or replaced: ${advice[suffix]}`,
  );
  return `writes are refused until this is fixed: ${each.join('; ')}`;
}

async function open(): Promise<SqliteStorage> {
  return openService(
    file,
    storageHost((message) => void warnings.push(message)),
  );
}

function inodeOfFile(): bigint {
  return statSync(file, { bigint: true }).ino;
}
