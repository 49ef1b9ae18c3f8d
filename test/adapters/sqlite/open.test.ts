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
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  openSqliteForReading,
  openSqliteKeys,
  openSqliteStorage,
  type SqliteStorage,
} from '../../../src/adapters/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { Fifo } from '../../support/fifo.ts';
import { fileOfVersion1, newFile, stranger, writer } from '../../support/sqlite.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const NEWER = SCHEMA_VERSION + 1;
/** To open a file, all of them. */
const WAYS: readonly Way[] = [openSqliteStorage, openSqliteForReading, openSqliteKeys];

describe('a path', () => {
  it('may lead to a directory that is not there yet', async () => {
    const file = join(dirname(await newFile()), 'data', 'deep', 'pets.db');

    const { pets } = await opened(file);
    await pets.insert(rex);

    expect((await stat(file)).isFile()).toBe(true);
  });

  it.each([':memory:', 'file:pets.db?mode=memory', 'a b#c%d?.db'])(
    'is the name of a file, always: %s',
    async (name) => {
      const directory = dirname(await newFile());
      const before = process.cwd();
      process.chdir(directory);
      onTestFinished(() => process.chdir(before));

      const { pets } = await opened(name);
      await pets.insert(rex);

      expect(await readdir(directory)).toContain(name);
    },
  );

  it('is refused when it is a directory', async () => {
    const directory = dirname(await newFile());

    expect(await refusal(directory)).toMatch(
      /^the SQLite file \S+ cannot be opened; check that it is a file/,
    );
  });

  it.each(WAYS.map((open) => [open.name, open] as const))(
    'is refused when it is a pipe, without waiting for its other end: %s',
    async (_, open) => {
      await using fifo = await Fifo.make();

      expect(await refusal(fifo.path, open)).toBe(
        `the SQLite file ${fifo.path} cannot be opened; check that it is a file`,
      );
    },
  );

  it('is refused when it leads through a file', async () => {
    const file = await newFile();
    await writeFile(file, '');

    expect(await refusal(join(file, 'pets.db'))).toMatch(/^the SQLite file \S+ cannot be opened: E/);
  });
});

describe('a file of two names', () => {
  // A log has the name of its file: two services would have one each.
  it.each(WAYS.map((open) => [open.name, open] as const))(
    'is refused under both, and may be opened when one is gone: %s',
    async (_, open) => {
      const file = await withPets();
      const other = `${file}2`;
      await hardLink(file, other);

      for (const name of [file, other]) {
        expect(await refusal(name, open)).toBe(
          `the SQLite file ${name} has 2 names (hard links); leave it only one, or use a copy of the file`,
        );
      }
      await rm(file);

      expect(await (await open(other)).close()).toBeUndefined();
    },
  );

  it('is refused to a second service, and the first goes on', async () => {
    const file = await newFile();
    const { pets } = await opened(file);
    await pets.insert(rex);
    await hardLink(file, `${file}2`);

    expect(await refusal(`${file}2`)).toMatch(/has 2 names/);
    expect(await pets.insert(rex)).toStrictEqual({ id: 2n, ...rex });
  });
});

describe('a second service', () => {
  it('is refused, in the same process and in another, by whichever path', async () => {
    const file = await newFile();
    const link = `${file}-link`;
    await symlink(file, link);
    const directoryLink = `${dirname(file)}/here`;
    await symlink('.', directoryLink);
    const { pets } = await opened(file);

    for (const path of [file, link, join(directoryLink, 'petstore.db')]) {
      expect(await refusal(path)).toMatch(/^the SQLite file \S+ is in use by another petstore service;/);
    }
    const other = writer(file, 1);
    expect((await other.ended).code).toBe(1);
    expect(other.stderr).toContain('StorageSetupError: the SQLite file');
    expect(other.stdout).toBe('');
    // The first has noticed nothing.
    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
  });

  it('is refused while the first lives in another process, and no longer once that was killed', async () => {
    const file = await newFile();
    const first = writer(file, 0);
    await first.printed(/^open$/m);

    expect(await refusal(file)).toMatch(/in use by another petstore service/);
    await first.kill();

    expect((await readdir(dirname(file))).toSorted()).toStrictEqual([
      'petstore.db',
      'petstore.db-shm',
      'petstore.db-wal',
      'petstore.db.lock',
    ]);
    const { pets } = await opened(file);
    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
  });

  it('may come when the first has closed', async () => {
    const file = await newFile();
    const first = await openSqliteStorage(file);
    await first.close();

    const { pets } = await opened(file);

    expect(await pets.list({ limit: 10 })).toStrictEqual([]);
  });

  it('may have another file in the same directory', async () => {
    const file = await newFile();
    await opened(file);

    await opened(`${file}2`);

    expect(await readdir(dirname(file))).toEqual(
      expect.arrayContaining(['petstore.db.lock', 'petstore.db2.lock']),
    );
  });
});

describe('a file that is not ours', () => {
  it.each([
    ['text', 'This is no database. '.repeat(100), /is no SQLite database; choose another path$/],
    ['a little text', 'Rex', /is no SQLite database; choose another path$/],
  ])('is refused and left as it is: %s', async (_, content, message) => {
    const file = await newFile();
    await writeFile(file, content);

    for (const open of WAYS) expect(await refusal(file, open)).toMatch(message);
    expect(await readFile(file, 'utf8')).toBe(content);
    expect(await readdir(dirname(file))).toStrictEqual(['petstore.db']);
  });

  it.each([
    ['with tables', 'CREATE TABLE pets (id INTEGER PRIMARY KEY)'],
    ['with an application id', 'PRAGMA application_id = 1'],
    ['with a version', 'PRAGMA user_version = 1'],
    ['in WAL mode', 'PRAGMA journal_mode = WAL; CREATE TABLE t (a)'],
  ])('is refused and left as it is: a SQLite database of another application, %s', async (_, sql) => {
    const file = await newFile();
    using db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
    const before = await readFile(file);

    for (const open of WAYS) {
      expect(await refusal(file, open)).toMatch(/belongs to another application; choose another path$/);
    }
    expect((await readFile(file)).equals(before)).toBe(true);
    expect(await readdir(dirname(file))).not.toContain('petstore.db.lock');
  });

  it('may be empty', async () => {
    const file = await newFile();
    await writeFile(file, '');

    const { pets } = await opened(file);

    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
  });
});

describe('a damaged file', () => {
  it.each([-1, -100, -4096, 4096, 100, 10])('is refused when it is cut to %i bytes', async (bytes) => {
    const file = await withPets();
    const { size } = await stat(file);
    await truncate(file, bytes < 0 ? size + bytes : bytes);

    for (const open of [openSqliteStorage, openSqliteKeys]) {
      expect(await refusal(file, open)).toMatch(
        /(?:has lost its end[:;] ?restore a backup|is no SQLite database.*)$/,
      );
    }
  });

  // Of one byte SQLite thinks as of none.
  it.each([0, 1])(
    'is refused when it has %i bytes but its log is not empty, and the log is kept',
    async (bytes) => {
      const file = await newFile();
      const other = writer(file, 1);
      await other.printed(/^5 /m);
      await other.kill();
      await copyFile(`${file}-wal`, `${file}.copy`);
      await truncate(file, bytes);

      for (const open of WAYS) {
        expect(await refusal(file, open)).toMatch(/is empty, but its log \S+-wal is not/);
      }
      expect((await readFile(`${file}-wal`)).equals(await readFile(`${file}.copy`))).toBe(true);
    },
  );

  it.each([
    ['pets', [openSqliteStorage, openSqliteForReading]],
    ['api_keys', [openSqliteStorage, openSqliteForReading, openSqliteKeys]],
  ])('is refused when its table is gone: %s', async (table, ways) => {
    const file = await withPets();
    stranger(file).exec(`DROP TABLE ${table}`);

    for (const open of ways) expect(await refusal(file, open)).toMatch(/cannot be used: no such table/);
  });
});

describe('a newer schema', () => {
  it('is refused and left as it is', async () => {
    const file = await withPets();
    const db = stranger(file);
    db.exec(`PRAGMA user_version = ${NEWER}`);

    for (const open of WAYS) {
      expect(await refusal(file, open)).toContain(
        `has schema version ${NEWER}, this build needs ${SCHEMA_VERSION}; run a newer build of petstore`,
      );
    }
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: BigInt(NEWER) });
  });
});

describe('an older schema', () => {
  it.each<readonly [string, Way]>([
    ['a service', openSqliteStorage],
    ['the command line', openSqliteKeys],
  ])('is brought up to date by %s, the pets are as they were, and there are keys', async (_, open) => {
    const pets = archivedPets(50);
    const file = await fileOfVersion1(pets);

    await (await open(file)).close();

    const { archive, keys, probe } = await opened(file);
    expect(await archive.read(0n, 100)).toStrictEqual(pets);
    expect(await archive.lastId()).toBe(pets.at(-1)?.id);
    expect(await probe.check()).toBeUndefined();
    await keys.insert(aKey());
    expect(await keys.list()).toStrictEqual([aKey()]);
  });

  it('is the same afterwards as one that was made by this build', async () => {
    const [older, mine] = [await fileOfVersion1([]), await newFile()];
    await (await openSqliteStorage(older)).close();
    await (await openSqliteStorage(mine)).close();

    const [after, expected] = [older, mine].map((file) =>
      stranger(file).prepare('SELECT type, name, sql FROM sqlite_schema').all(),
    );
    expect(after).toStrictEqual(expected);
  });
});

describe('a schema that is up to date', () => {
  it('is left as it is', async () => {
    const file = await withPets();
    const schema = 'SELECT * FROM sqlite_schema';
    const before = stranger(file).prepare(schema).all();

    await opened(file);
    await (await openSqliteKeys(file)).close();

    expect(stranger(file).prepare(schema).all()).toStrictEqual(before);
    expect(before.length).toBeGreaterThan(0);
  });
});

describe('permissions', () => {
  it('that forbid to write the file refuse the start', async () => {
    const file = await withPets();
    await chmod(file, 0o444);
    await chmod(`${file}.lock`, 0o666);

    expect(await asNobody(dirname(file), 0o777, () => refusal(file))).toMatch(
      /cannot be written; check the permissions/,
    );
  });

  it('that forbid to read the file refuse the start', async () => {
    const file = await withPets();
    await chmod(file, 0);

    expect(await asNobody(dirname(file), 0o777, () => refusal(file))).toMatch(
      /cannot be opened; .*the permissions/,
    );
  });

  it('that forbid to write the directory refuse the start', async () => {
    const file = await withPets();
    await chmod(file, 0o666);

    expect(await asNobody(dirname(file), 0o555, () => refusal(file))).toMatch(
      /cannot be (?:opened|written); .*the permissions of the file and of its directory/,
    );
  });

  it('that forbid to make a directory refuse the start', async () => {
    const file = await newFile();

    expect(await asNobody(dirname(file), 0o555, () => refusal(join(dirname(file), 'data', 'x.db')))).toMatch(
      /cannot be opened: EACCES/,
    );
  });
});

describe('another program at the start', () => {
  it('is waited for', async () => {
    const file = await withPets();
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    let open = false;
    const opening = opened(file).finally(() => (open = true));
    for (let n = 0; n < 100; n++) await new Promise(setImmediate);
    expect(open).toBe(false);
    other.exec('COMMIT');

    const { pets } = await opening;
    expect(await pets.list({ limit: 1000 })).toHaveLength(100);
  });
});

describe('a start that was refused', () => {
  it('holds nothing', async () => {
    const file = await withPets();
    const db = stranger(file);
    db.exec(`PRAGMA user_version = ${NEWER}`);
    for (const open of WAYS) await refusal(file, open);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.close();

    const { pets } = await opened(file);

    expect(await pets.list({ limit: 1000 })).toHaveLength(100);
  });
});

describe('reading', () => {
  it('goes on beside a service and sees what that stores', async () => {
    const file = await newFile();
    const { pets } = await opened(file);
    const reading = await openSqliteForReading(file);
    onTestFinished(reading.close);

    const pet = await pets.insert(rex);

    expect(await reading.pets.findById(pet.id)).toStrictEqual(pet);
    expect(await reading.pets.list({ limit: 10 })).toStrictEqual([pet]);
  });

  it('does without a service', async () => {
    const reading = await openSqliteForReading(await withPets());
    onTestFinished(reading.close);

    expect(await reading.pets.list({ limit: 1000 })).toHaveLength(100);
  });

  it('makes no file', async () => {
    const file = await newFile();

    expect(await refusal(file, openSqliteForReading)).toMatch(/cannot be opened/);
    expect(await readdir(dirname(file))).toStrictEqual([]);
  });

  it.each([
    ['none', async () => newFile().then(async (file) => (await writeFile(file, ''), file)), 0],
    ['the first', async () => fileOfVersion1(archivedPets(3)), 1],
  ])('is refused for a schema that is older: %s', async (_, make, version) => {
    expect(await refusal(await make(), openSqliteForReading)).toContain(
      `has schema version ${version}, this build needs ${SCHEMA_VERSION}; start the service once`,
    );
  });

  it('sees the API keys', async () => {
    const file = await newFile();
    const { keys } = await opened(file);
    const reading = await openSqliteForReading(file);
    onTestFinished(reading.close);

    await keys.insert(aKey());

    expect(await reading.keys.list()).toStrictEqual([aKey()]);
  });
});

describe('the probe', () => {
  it('is content with an open file', async () => {
    const { probe } = await opened(await newFile());

    expect(await probe.check()).toBeUndefined();
  });

  it('is not when somebody has migrated the file to another version', async () => {
    const file = await newFile();
    const { probe } = await opened(file);
    stranger(file).exec(`PRAGMA user_version = ${NEWER}`);

    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
    await expect(probe.check()).rejects.toThrow(`has schema version ${NEWER}`);
  });
});

describe('after close', () => {
  it('every method says that the storage is unavailable, and the inserts before are stored', async () => {
    const file = await newFile();
    const { pets, keys, probe, close } = await openSqliteStorage(file);
    const inserting = [pets.insert(rex), pets.insert(rex)];
    await close();

    expect((await Promise.all(inserting)).map(({ id }) => id)).toStrictEqual([1n, 2n]);
    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
    await expect(pets.findById(1n)).rejects.toThrow(StorageUnavailable);
    await expect(pets.list({ limit: 1 })).rejects.toThrow(StorageUnavailable);
    await expect(keys.insert(aKey())).rejects.toThrow(StorageUnavailable);
    await expect(keys.findById(aKey().id)).rejects.toThrow(StorageUnavailable);
    await expect(keys.list()).rejects.toThrow(StorageUnavailable);
    await expect(keys.revoke(aKey().id, new Date())).rejects.toThrow(StorageUnavailable);
    await expect(keys.expire(aKey().id, new Date())).rejects.toThrow(StorageUnavailable);
    await expect(keys.recordUse(new Map([[aKey().id, new Date()]]))).rejects.toThrow(StorageUnavailable);
    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
    // Once more does no harm.
    expect(await close()).toBeUndefined();
    expect(stranger(file).prepare('SELECT count(*) AS n FROM pets').get()).toEqual({ n: 2n });
  });

  it('nothing is left but the file and its lock', async () => {
    const file = await withPets();

    expect((await readdir(dirname(file))).toSorted()).toStrictEqual(['petstore.db', 'petstore.db.lock']);
    expect((await stat(`${file}.lock`)).size).toBe(0);
  });
});

type Way = (file: string) => Promise<{ close(): Promise<void> }>;

async function opened(file: string): Promise<SqliteStorage> {
  const storage = await openSqliteStorage(file);
  onTestFinished(() => storage.close());
  return storage;
}

/** A file with a hundred pets that no service has open. */
async function withPets(): Promise<string> {
  const file = await newFile();
  const { pets, close } = await openSqliteStorage(file);
  await Promise.all(Array.from({ length: 100 }, () => pets.insert({ ...rex, name: 'Rex'.repeat(50) })));
  await close();
  return file;
}

/** The line with which an operator is told why it cannot be opened. */
async function refusal(file: string, open: Way = openSqliteStorage): Promise<string> {
  const error: unknown = await open(file).then(
    async ({ close }) => close(),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StorageSetupError);
  const { message } = error as StorageSetupError;
  expect(message).not.toContain('\n');
  return message;
}

/** Permissions mean nothing to root, who therefore becomes somebody else for a while. */
async function asNobody<T>(directory: string, mode: number, work: () => Promise<T>): Promise<T> {
  const { geteuid, seteuid } = process;
  const isRoot = geteuid?.() === 0;
  await chmod(directory, mode);
  if (isRoot) seteuid?.(65_534);
  try {
    return await work();
  } finally {
    if (isRoot) seteuid?.(0);
    await chmod(directory, 0o700);
  }
}
