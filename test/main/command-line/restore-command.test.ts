import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, link, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  openSqliteForReading,
  openSqliteKeys,
  openSqliteStorage,
} from '../../../src/adapters/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { aKey } from '../../support/api-keys.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { asNobody } from '../../support/as-nobody.ts';
import { refused, succeeds } from '../../support/command.ts';
import { ROOT, SERVICE } from '../../support/process.ts';
import { STRACE_MISSING, traced } from '../../support/strace.ts';
import { count, newFile, openService, silentLog } from '../../support/sqlite.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';

const OLD = archivedPets(5);
const NEW = archivedPets(7);

/** The database of a service that has crashed with its pets in the write-ahead log, and a backup of another. */
let file: string;
let backup: string;
let DATABASE_URL: string;
/** The three files, which each test gets a copy of. */
let originals: TemporaryDirectory;

beforeAll(async () => {
  originals = await temporaryDirectory('restore');
  const [old, other] = [join(originals.path, 'old.db'), join(originals.path, 'other.db')];
  for (const [path, pets] of [
    [old, OLD],
    [other, NEW],
  ] as const) {
    const { archive, close } = await openSqliteStorage(path, silentLog);
    await archive.write(pets);
    for (const suffix of ['', '-wal']) await copyFile(path + suffix, `${path}-crashed${suffix}`);
    await close();
  }
  await succeeds(['backup', '--from', `sqlite:${other}`, join(originals.path, 'backup.db')]);
});

afterAll(() => originals.remove());

beforeEach(async () => {
  file = await newFile();
  DATABASE_URL = `sqlite:${file}`;
  backup = join(dirname(file), 'backup.db');
  const crashed = join(originals.path, 'old.db-crashed');
  for (const suffix of ['', '-wal']) await copyFile(crashed + suffix, file + suffix);
  await copyFile(join(originals.path, 'backup.db'), backup);
});

/** The pets of a file, as a service finds them. */
async function petsIn(path: string) {
  const { archive, close } = await openSqliteStorage(path, silentLog);
  const pets = await archive.read(0n, 100);
  await close();
  return pets;
}

async function names(directory = dirname(file)): Promise<readonly string[]> {
  return (await readdir(directory)).toSorted();
}

/** What earlier restores have kept. */
async function kept(path = file): Promise<readonly string[]> {
  const found = (await names(dirname(path))).filter((name) => /\.before-restore-\w+$/.test(name));
  return found.map((name) => join(dirname(path), name));
}

function hasOldPets(path: string): boolean {
  try {
    using db = new DatabaseSync(path, { readBigInts: true });
    return count(db) === BigInt(OLD.length);
  } catch {
    // Without its log: a repeated restore gives both another name.
    return false;
  }
}

async function restore(from = backup, to = file): Promise<string> {
  return (await succeeds(['restore', from, '--to', `sqlite:${to}`])).stdout;
}

/** Not the lock, nor what a reader needs. */
async function lastingNames(): Promise<readonly string[]> {
  return (await names()).filter((name) => !/\.lock$|-shm$/.test(name));
}

async function expectRefused(message: string | RegExp, from = backup): Promise<void> {
  const before = await lastingNames();
  await refused(['restore', from], message, { env: { DATABASE_URL } });
  expect(await lastingNames()).toStrictEqual(before);
}

describe('a restore', () => {
  it('serves the pets of the backup, and keeps what it replaces under the name that it says', async () => {
    const linked = join(dirname(file), 'link.db');
    await symlink('petstore.db', linked);

    const stdout = await restore(backup, linked);

    const [name = ''] = await kept();
    expect(stdout).toBe(`restored ${backup}; what it replaced is kept as ${name}\n`);
    expect(await petsIn(file)).toStrictEqual(NEW);
    expect(await petsIn(name)).toStrictEqual(OLD);
    // The backup itself is as it was.
    await restore();
    expect(await petsIn(file)).toStrictEqual(NEW);
  });

  it('keeps the permissions of the database, and makes a new one private', async () => {
    const missing = join(dirname(file), 'missing.db');
    expect(await restore(backup, missing)).toBe(`restored ${backup}\n`);
    expect(await petsIn(missing)).toStrictEqual(NEW);
    expect((await stat(missing)).mode & 0o777).toBe(0o600);
    await chmod(file, 0o640);
    const { stdout } = await succeeds(['restore', backup, '--json'], { DATABASE_URL });
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(JSON.parse(stdout)).toStrictEqual({ file: backup, kept: (await kept())[0] });
  });

  it('works where only the write-ahead log is left, and keeps that', async () => {
    await rm(file);
    await restore();
    expect(await petsIn(file)).toStrictEqual(NEW);
    const left = (await names()).filter((name) => name.includes('before-restore'));
    expect(left).toStrictEqual([expect.stringMatching(/-wal$/)]);
  });

  it('puts right what cp has mixed up, which every other command refuses', async () => {
    await copyFile(backup, file);
    const problem = `the SQLite file ${file} does not match its write-ahead log ${file}-wal; run petstore restore`;
    for (const open of [openSqliteStorage, openSqliteForReading, openSqliteKeys]) {
      await expect(open(file)).rejects.toThrow(problem);
    }
    await refused(['backup', join(dirname(file), 'another.db')], problem, { env: { DATABASE_URL } });
    await refused(['check'], problem, { env: { DATABASE_URL } });
    await restore();
    expect(await petsIn(file)).toStrictEqual(NEW);
  });

  it('takes back what another restore has kept, by way of a backup of that', async () => {
    await restore();
    const [name = ''] = await kept();
    const again = join(dirname(file), 'again.db');
    await expectRefused(
      `${name} is not a backup; make one of it with petstore backup --from sqlite:${name} NEW, and restore NEW`,
      name,
    );
    await succeeds(['backup', '--from', `sqlite:${name}`, again]);
    await restore(again);
    expect(await petsIn(file)).toStrictEqual(OLD);
  });
});

describe('a restore is refused, and changes nothing', () => {
  it('while a service runs', async () => {
    const service = await openService(file);
    await expectRefused(
      `the SQLite file ${file} is in use by another petstore service; stop that service first`,
    );
    expect(await service.pets.insert(anArchivedPet({ id: 1n }))).toMatchObject({ name: 'Rex' });
  });

  it.each<readonly [string, RegExp, (path: string) => Promise<void>]>([
    ['damaged in the middle', / is damaged; nothing was written\n$/, damagePages],
    ['no database', / is not a SQLite database/, (path) => writeFile(path, 'notes '.repeat(1000))],
    ['beside a journal', / is not a backup; make one of it /, (path) => writeFile(`${path}-journal`, '')],
    ['missing', /there is no SQLite file /, (path) => rm(path)],
    ['of a newer build', /; run a newer build /, sql(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)],
    ['without an index', / is damaged \(the index \w+ is missing\); nothing was written\n$/, sql(NO_INDEX)],
    ['the file of a service', / is not a backup; make one of it /, sql('PRAGMA journal_mode = WAL')],
    ['with an index that lacks rows', / is damaged; nothing was written\n$/, sql(LOSE_ROWS)],
  ])('when the backup is %s', async (_, message, change) => {
    const other = join(dirname(await newFile()), 'other.db');
    await copyFile(backup, other);
    await change(other);
    await expectRefused(message, other);
    expect(await petsIn(file)).toStrictEqual(OLD);
  });

  it('when the backup is the database itself', async () => {
    const linked = join(dirname(file), 'link.db');
    await symlink('petstore.db', linked);
    for (const from of [file, linked]) {
      await expectRefused(`${file} is the database itself; choose a backup`, from);
    }
    expect(await petsIn(file)).toStrictEqual(OLD);
    await link(file, `${file}2`);
    await expectRefused(`${file}2 is the database itself; choose a backup`, `${file}2`);
  });

  it('when the directory is read-only', async () => {
    await writeFile(`${file}.lock`, '', { mode: 0o666 });
    await chmod(backup, 0o644);
    const problem = `${file} cannot be written: EACCES: permission denied, open '${file}.restoring'`;
    await asNobody(dirname(file), 0o555, () => expectRefused(problem));
    expect(await petsIn(file)).toStrictEqual(OLD);
  });
});

const NO_INDEX = 'DROP INDEX pets_by_status';
const LOSE_ROWS = `${NO_INDEX}; CREATE INDEX pets_by_status ON pets (status) WHERE status = 'x';
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, ' WHERE status = ''x''', '') WHERE name = 'pets_by_status'`;

function sql(statement: string): (path: string) => Promise<void> {
  return async (path) => {
    using db = new DatabaseSync(path);
    db.enableDefensive(false);
    db.exec(statement);
  };
}

/** The header and the schema stay as they are. */
async function damagePages(path: string): Promise<void> {
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0xff, 4096, 3 * 4096));
}

describe('a restore that the system ends', () => {
  beforeEach(({ skip }) => skip(STRACE_MISSING !== undefined, STRACE_MISSING));

  /** Runs a restore. Yields a copy of its directory as each of these calls leaves it. */
  async function* stepsOfRestore(): AsyncGenerator<string> {
    const calls = 'link,rename,unlink,fsync,fdatasync,chmod,fchmod';
    const options = ['-f', '-e', `trace=${calls}`, '-e', `inject=${calls}:signal=SIGSTOP`];
    const command = [process.execPath, join(ROOT, SERVICE[0]), 'restore', backup, '--to', DATABASE_URL];
    const env = { PATH: process.env['PATH'], UV_THREADPOOL_SIZE: '1' };
    const strace = spawn('strace', [...options, ...command], { detached: true, env });
    const signal = (name: NodeJS.Signals) => process.kill(-strace.pid!, name);
    const ended = once(strace, 'close');
    try {
      for await (const line of createInterface({ input: strace.stderr })) {
        if (!line.includes('--- SIGSTOP ')) continue;
        const image = join(dirname(await newFile()), 'image');
        // Names of the same file stay so.
        execFileSync('cp', ['-a', dirname(file), image]);
        yield image;
        signal('SIGCONT');
      }
    } finally {
      if (strace.exitCode === null) signal('SIGKILL');
    }
    expect(await ended).toStrictEqual([0, null]);
  }

  it.each(['', 'FILE'])(
    'at any step leaves the old pets, the new ones or a refusal, and can be repeated: %s',
    async (missing) => {
      if (missing !== '') await rm(file);
      let refusals = 0;
      for await (const directory of stepsOfRestore()) {
        const image = join(directory, 'petstore.db');
        const left = await petsIn(image).then(
          ({ length }) => `${length} pets`,
          ({ message }: Error) => message,
        );
        expect(left).toMatch(/^[57] pets$|petstore restore|is empty, but its write-ahead log/);
        if (!left.endsWith(' pets')) refusals++;
        await restore(join(directory, 'backup.db'), image);
        expect(await petsIn(image)).toStrictEqual(NEW);
        expect(missing !== '' || (await kept(image)).some(hasOldPets)).toBe(true);
      }
      expect(refusals).toBeGreaterThan(1);
    },
  );

  it('loses no key that a command writes meanwhile', async () => {
    // Leaves no write-ahead log. The command makes one.
    expect(await petsIn(file)).toStrictEqual(OLD);
    let command: Awaited<ReturnType<typeof openSqliteKeys>> | undefined;
    const written: unknown[] = [];
    let step = 0;
    for await (const _ of stepsOfRestore()) {
      command ??= await openSqliteKeys(file);
      const key = aKey(++step);
      // Refused when the file has been replaced.
      await command.keys.insert(key).then(
        () => written.push(key),
        () => undefined,
      );
    }
    await command?.close();
    expect(written.length).toBeGreaterThan(1);
    const { keys, close } = await openSqliteForReading((await kept())[0]!);
    expect(await keys.list()).toEqual(expect.arrayContaining(written));
    await close();
    expect(await petsIn(file)).toStrictEqual(NEW);
  });

  it.each(['pwrite64:error=ENOSPC', 'rename:error=EIO', 'link:error=EPERM'])(
    'changes nothing at an error: %s',
    async (inject) => {
      const { program } = await traced(['restore', backup], { env: { DATABASE_URL }, inject });
      expect(await program.ended).toMatchObject({ code: 1 });
      expect(program.stderr).toMatch(/^petstore: \S+ cannot be written: .*\n$/);
      expect((await names()).filter((name) => /restor/.test(name))).toStrictEqual([]);
      expect(await petsIn(file)).toStrictEqual(OLD);
    },
  );
});
