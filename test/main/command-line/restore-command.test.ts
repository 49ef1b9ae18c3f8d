import {
  chmod,
  copyFile,
  link,
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
import { beforeEach, describe, expect, it } from 'vitest';
import {
  openSqliteForReading,
  openSqliteKeys,
  openSqliteStorage,
} from '../../../src/adapters/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { asNobody } from '../../support/as-nobody.ts';
import { refused, succeeds } from '../../support/command.ts';
import { STRACE_MISSING, traced } from '../../support/strace.ts';
import {
  count,
  crashImage,
  keyWriter,
  newFile,
  openService,
  otherConnection,
  silentLog,
} from '../../support/sqlite.ts';

const OLD = archivedPets(5);
const NEW = archivedPets(7);

/** The database of a service that has crashed with its pets in the write-ahead log, and a backup of another. */
let file: string;
let backup: string;
let DATABASE_URL: string;

beforeEach(async () => {
  const [old, other] = [await newFile(), await newFile()];
  await (await openService(old)).archive.write(OLD);
  file = await crashImage(old);
  DATABASE_URL = `sqlite:${file}`;
  const { archive, close } = await openSqliteStorage(other, silentLog);
  await archive.write(NEW);
  await close();
  backup = join(dirname(file), 'backup.db');
  await succeeds(['backup', '--from', `sqlite:${other}`, backup]);
});

/** The pets of a file, as a service finds them. */
async function petsIn(path: string) {
  const { archive, close } = await openSqliteStorage(path, silentLog);
  const pets = await archive.read(0n, 100);
  await close();
  return pets;
}

async function names(): Promise<readonly string[]> {
  return (await readdir(dirname(file))).toSorted();
}

/** What earlier restores have kept. */
async function kept(): Promise<readonly string[]> {
  const found = (await names()).filter((name) => /\.before-restore-\w+$/.test(name));
  return found.map((name) => join(dirname(file), name));
}

function hasOldPets(path: string): boolean {
  return count(otherConnection(path)) === BigInt(OLD.length);
}

async function restore(from = backup, to = file): Promise<string> {
  return (await succeeds(['restore', from, '--to', `sqlite:${to}`])).stdout;
}

async function expectRefused(message: string | RegExp, from = backup): Promise<void> {
  const before = (await names()).filter((name) => !/\.lock$|-shm$/.test(name));
  await refused(['restore', from], message, { env: { DATABASE_URL } });
  expect(
    (await names()).filter((name) => name !== 'petstore.db.lock' && !name.endsWith('-shm')),
  ).toStrictEqual(before);
  expect(await petsIn(file)).toStrictEqual(OLD);
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
    expect((await names()).filter((name) => name.includes('before-restore'))).toStrictEqual([
      expect.stringMatching(/-wal$/),
    ]);
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
    await refused(
      ['restore', name],
      `${name} is not a backup; make one of it with petstore backup --from sqlite:${name} NEW, and restore NEW`,
      { env: { DATABASE_URL } },
    );
    await succeeds(['backup', '--from', `sqlite:${name}`, again]);
    await restore(again);
    expect(await petsIn(file)).toStrictEqual(OLD);
  });

  it('never mixes with a command that writes keys at the same moment', async () => {
    const writer = keyWriter(file);
    await writer.printed(/\n/);
    for (let n = 0; n < 5; n++) await restore();
    await writer.kill();
    expect(await petsIn(file)).toStrictEqual(NEW);
    expect(otherConnection(file).prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });
});

describe('a restore is refused, and changes nothing', () => {
  it('while a service runs', async () => {
    const service = await openService(file);
    const problem = `the SQLite file ${file} is in use by another petstore service; stop that service first`;
    await refused(['restore', backup], problem, { env: { DATABASE_URL } });
    expect(await service.pets.insert(anArchivedPet({ id: 1n }))).toMatchObject({
      name: anArchivedPet({ id: 1n }).name,
    });
    expect(await kept()).toStrictEqual([]);
    await service.close();
  });

  it.each<readonly [string, RegExp, (path: string) => Promise<void>]>([
    ['damaged in the middle', / is damaged; nothing was written\n$/, damagePages],
    [
      'truncated',
      / is truncated; restore a backup\n$/,
      async (path) => truncate(path, (await stat(path)).size - 1),
    ],
    ['no database', / is not a SQLite database/, (path) => writeFile(path, 'notes '.repeat(1000))],
    ['beside a journal', / is not a backup; make one of it /, (path) => writeFile(`${path}-journal`, '')],
    ['missing', /there is no SQLite file /, (path) => rm(path)],
    [
      'of a newer build',
      /; run a newer build of petstore\n$/,
      sql(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`),
    ],
    ['with an index that lacks rows', / is damaged; nothing was written\n$/, sql(LOSE_ROWS)],
  ])('when the backup is %s', async (_, message, change) => {
    const other = join(dirname(await newFile()), 'other.db');
    await copyFile(backup, other);
    await change(other);
    await expectRefused(message, other);
  });

  it('when the backup is the database itself', async () => {
    const linked = join(dirname(file), 'link.db');
    await symlink('petstore.db', linked);
    for (const from of [file, linked])
      await expectRefused(`${file} is the database itself; choose a backup`, from);
    await link(file, `${file}2`);
    await refused(['restore', `${file}2`], `${file}2 is the database itself; choose a backup`, {
      env: { DATABASE_URL },
    });
  });

  it('when the directory is read-only', async () => {
    await writeFile(`${file}.lock`, '', { mode: 0o666 });
    await chmod(backup, 0o644);
    await asNobody(dirname(file), 0o555, () =>
      refused(
        ['restore', backup],
        `${file} cannot be written: EACCES: permission denied, open '${file}.restoring'`,
        {
          env: { DATABASE_URL },
        },
      ),
    );
    expect(await petsIn(file)).toStrictEqual(OLD);
  });
});

const LOSE_ROWS = `DROP INDEX pets_by_status; CREATE INDEX pets_by_status ON pets (status) WHERE status = 'x';
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

  it.each(['', 'FILE'])(
    'at any step leaves the old pets, the new ones or a refusal, and can be repeated: %s',
    async (missing) => {
      const [image, wal] = [await readFile(file), await readFile(`${file}-wal`)];
      let refusals = 0;
      for (let step = 1; ; step++) {
        for (const name of await names()) if (name !== 'backup.db') await rm(join(dirname(file), name));
        if (missing === '') await writeFile(file, image);
        await writeFile(`${file}-wal`, wal);
        const inject = `link,rename,unlink,fsync,fdatasync,chmod,fchmod:signal=SIGKILL:when=${step}`;
        const { program } = await traced(['restore', backup], { env: { DATABASE_URL }, inject });
        const { signal } = await program.ended;
        if (signal === null) break;

        const left = await petsIn(file).then(
          ({ length }) => `${length} pets`,
          ({ message }: Error) => message,
        );
        expect(left, `step ${step}`).toMatch(
          /^[57] pets$|petstore restore|is empty, but its write-ahead log/,
        );
        if (!left.endsWith(' pets')) refusals++;
        await restore();
        expect(await petsIn(file)).toStrictEqual(NEW);
        expect(missing !== '' || (await kept()).some(hasOldPets), `step ${step}`).toBe(true);
      }
      expect(refusals).toBeGreaterThan(1);
    },
  );

  it.each(['pwrite64:error=ENOSPC', 'fsync:error=EIO', 'rename:error=EIO', 'link:error=EPERM'])(
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
