import {
  chmod,
  copyFile,
  link as hardLink,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { callAll } from '../../contracts/storage-kind.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { asNobody } from '../../support/as-nobody.ts';
import { Fifo } from '../../support/fifo.ts';
import {
  expectPending,
  fileOfVersion,
  fileWith,
  fileAfterKill,
  newPath,
  newService,
  openService,
  otherConnection,
  silentHost,
  takeWriteLock,
} from '../../support/sqlite.ts';
import { BACKUP, EVERY, EXPORTING, type Opener, READING } from './openers.ts';
import { rex } from '../../support/pets.ts';

const PETS = archivedPets(100);
const NEWER = SCHEMA_VERSION + 1;
const openStorage: Opener = (file) => openSqliteStorage(file, silentHost);

/** Returns openers that take a path instead of a URL. */
const onPaths = (openers: typeof EVERY) =>
  openers.map(
    ([, open]): Opener =>
      (file) =>
        open(`sqlite:${file}`),
  );
const OPENERS = onPaths(EVERY);
/** The openers that need the schema version of this build. */
const NEED_OUR_VERSION = onPaths(EVERY.filter((one) => one !== BACKUP));

it('a path is refused immediately when it leads to a pipe or to a directory', async () => {
  const fifo = await Fifo.make();

  for (const path of [fifo.path, dirname(fifo.path)]) {
    for (const open of OPENERS) {
      expect(await refusal(path, open)).toBe(
        `the SQLite file ${path} cannot be opened; check that it is a file`,
      );
    }
  }
});

// The name of a WAL is made from the name of its file, so two services with two names would write two WALs.
it('a file with two hard links is refused under both names, and accepted when one of the names is removed', async () => {
  const file = await fileWith(PETS);
  const other = `${file}2`;
  await hardLink(file, other);

  for (const name of [file, other]) {
    for (const open of OPENERS) {
      expect(await refusal(name, open)).toBe(
        `the SQLite file ${name} has 2 hard links; remove all but one, or use a copy`,
      );
    }
  }
  await rm(file);
  for (const open of OPENERS) await (await open(other)).close();
});

it('a second service in the same process is refused within seconds under every path of the file', async () => {
  const file = await newPath();
  const link = `${file}-link`;
  await symlink(file, link);
  const directoryLink = `${dirname(file)}/here`;
  await symlink('.', directoryLink);
  const { pets } = await openService(file);

  const paths = [file, link, join(directoryLink, 'petstore.db')];
  for (const line of await Promise.all(paths.map((path) => refusal(path)))) {
    expect(line).toMatch(/^the SQLite file \S+ is in use by another petstore service;/);
  }
  expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
}, 20_000);

const sql = (script: string) => async (file: string) => {
  using db = new DatabaseSync(file);
  db.exec(script);
};
const NO_DATABASE = /is not a SQLite database; choose another path$/;
const FOREIGN = /belongs to another application; choose another path$/;

it.each<readonly [description: string, make: (file: string) => Promise<void>, refused: RegExp]>([
  ['text', (file) => writeFile(file, 'This is not a database. '.repeat(100)), NO_DATABASE],
  ['a text of three bytes', (file) => writeFile(file, 'Rex'), NO_DATABASE],
  ['a database with tables', sql('CREATE TABLE pets (id INTEGER PRIMARY KEY)'), FOREIGN],
  ['a database with an application id', sql('PRAGMA application_id = 1'), FOREIGN],
  ['a database with a version', sql('PRAGMA user_version = 1'), FOREIGN],
  ['a database in WAL mode', sql('PRAGMA journal_mode = WAL; CREATE TABLE t (a)'), FOREIGN],
])('a file of another application is refused and left unchanged: %s', async (_, make, refused) => {
  const file = await newPath();
  await make(file);
  const before = await readFile(file);

  for (const open of OPENERS) expect(await refusal(file, open)).toMatch(refused);
  expect((await readFile(file)).equals(before)).toBe(true);
  expect(await readdir(dirname(file))).not.toContain('petstore.db.lock');
});

it.each([-1, -4096, 100])(
  'a damaged file is refused when it is truncated to %i bytes (a negative number is what it loses)',
  async (bytes) => {
    const file = await fileWith(PETS);
    const { size } = await stat(file);
    await truncate(file, bytes < 0 ? size + bytes : bytes);

    for (const open of onPaths(EVERY.filter((one) => one !== EXPORTING))) {
      expect(await refusal(file, open)).toMatch(
        /(?:truncated; restore a backup|is not a SQLite database.*)$/,
      );
    }
  },
);

// SQLite treats a file of one byte as empty.
it.each([0, 1])(
  'a damaged file is refused when it has %i bytes and its WAL is not empty, and the WAL is kept',
  async (bytes) => {
    const file = await fileAfterKill(({ pets }) => pets.insert(rex));
    const wal = await readFile(`${file}-wal`);
    await truncate(file, bytes);

    for (const open of OPENERS) {
      expect(await refusal(file, open)).toBe(
        `the SQLite file ${file} is empty, but its write-ahead log ${file}-wal is not; restore the file`,
      );
    }
    expect((await readFile(`${file}-wal`)).equals(wal)).toBe(true);
  },
);

it.each([
  [3, 'no release has that version: export it with the build that made it, then import'],
  [NEWER, 'run a newer build of petstore'],
])('a file of schema version %i is refused and left unchanged', async (version, advice) => {
  const file = await fileOfVersion(version);
  const before = await readFile(file);
  await rm(`${file}.lock`);

  for (const open of NEED_OUR_VERSION) {
    expect(await refusal(file, open)).toBe(
      `the SQLite file ${file} has schema version ${version}, this build needs ${SCHEMA_VERSION}; ${advice}`,
    );
  }
  expect((await readFile(file)).equals(before)).toBe(true);
  const names = await readdir(dirname(file));
  expect(names.filter((name) => !/-(?:wal|shm)$/.test(name))).toStrictEqual(['petstore.db']);
});

describe('a start', () => {
  const PERMISSIONS = 'check (?:that it is a file, and )?the permissions of the file and of its directory';

  it.each([
    ['to write the file', 0o444, 0o777, `cannot be written; ${PERMISSIONS}`],
    ['to read the file', 0, 0o777, `cannot be opened; ${PERMISSIONS}`],
    ['to write the directory', 0o666, 0o555, `cannot be (?:opened|written); ${PERMISSIONS}`],
  ])('fails without permission %s', async (_, fileMode, directoryMode, problem) => {
    const file = await fileWith(PETS);
    await chmod(file, fileMode);
    await chmod(`${file}.lock`, 0o666);

    expect(await asNobody(dirname(file), directoryMode, () => refusal(file))).toMatch(
      new RegExp(`^the SQLite file ${RegExp.escape(file)} ${problem}$`),
    );
  });

  it('fails without permission to create a directory', async () => {
    const file = await newPath();

    expect(await asNobody(dirname(file), 0o555, () => refusal(join(dirname(file), 'data', 'x.db')))).toMatch(
      /cannot be opened: EACCES/,
    );
  });

  it('waits while another program has locked the file', async () => {
    const file = await fileWith(PETS);
    const other = takeWriteLock(file);

    const opening = openService(file);
    await expectPending(opening);
    other.exec('COMMIT');

    const { pets } = await opening;
    expect(await pets.list({ limit: 1000 })).toHaveLength(100);
  });

  it('leaves no lock when it fails', async () => {
    const file = await fileWith(PETS);
    const db = otherConnection(file);
    db.exec(`PRAGMA user_version = ${NEWER}`);
    for (const open of NEED_OUR_VERSION) await refusal(file, open);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.close();

    const { pets } = await openService(file);

    expect(await pets.list({ limit: 1000 })).toHaveLength(100);
  });
});

it('an empty file is refused by a check, an export and a backup', async () => {
  const file = await newPath();
  await writeFile(file, '');

  for (const open of onPaths(READING)) {
    expect(await refusal(file, open)).toBe(`the SQLite file ${file} is empty; there is nothing to read`);
  }
});

it('a file without tables, because its log was removed, is refused by a check, an export and a backup', async () => {
  const { file: original, pets } = await newService();
  await pets.insert(rex);
  const file = await newPath();
  await copyFile(original, file);

  for (const open of onPaths(READING)) {
    expect(await refusal(file, open)).toBe(
      `the SQLite file ${file} has no tables; put back its write-ahead log ${file}-wal if it was removed, or restore a backup`,
    );
  }
});

it('every method rejects with StorageUnavailable after a close, and inserts that began before it are stored', async () => {
  const file = await newPath();
  const { pets, archive, keys, probe, close } = await openSqliteStorage(file, silentHost);
  const inserting = [pets.insert(rex), pets.insert(rex)];
  await close();

  expect((await Promise.all(inserting)).map(({ id }) => id)).toStrictEqual([1n, 2n]);
  const calls = [
    archive.read(0n, 1),
    archive.write([anArchivedPet({ id: 9n })]),
    archive.greatestId(),
    archive.lastId(),
    archive.reserve(9n),
    archive.count(9n),
    probe.check(),
  ];
  for (const outcome of [...(await callAll({ pets, keys })), ...(await Promise.allSettled(calls))]) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'storage-unavailable' } });
  }
  expect(await close()).toBeUndefined();
  expect(otherConnection(file).prepare('SELECT count(*) AS n FROM pets').get()).toEqual({ n: 2n });
});

/** Expects that the file cannot be opened. Resolves with the reason, which is one line for the operator. */
async function refusal(file: string, open = openStorage): Promise<string> {
  const error: unknown = await open(file).then(
    async ({ close }) => close(),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StorageSetupError);
  const { message } = error as StorageSetupError;
  expect(message).not.toContain('\n');
  return message;
}
