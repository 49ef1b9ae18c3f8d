import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { everythingIn } from '../../support/archives.ts';
import { asNobody } from '../../support/as-nobody.ts';
import { Command, FAILED, fails, refused, succeeds } from '../../support/command.ts';
import { DONE, run } from '../../support/process.ts';
import { STRACE_MISSING, traced } from '../../support/strace.ts';
import { newFile, openKeys, openService } from '../../support/sqlite.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { storageHost } from '../../support/storage-host.ts';

const OLD = archivedPets(5);
const NEW = archivedPets(7);

/** A path where nothing is, and a backup. The directory needs quotes in a shell. */
let file: string;
let backup: string;
let DATABASE_URL: string;
/** The backup, and a database of a service that has crashed with its pets in the write-ahead log. */
let originals: TemporaryDirectory;

beforeAll(async () => {
  originals = await temporaryDirectory('restore');
  const [old, other] = [join(originals.path, 'old.db'), join(originals.path, 'other.db')];
  for (const [path, pets] of [
    [old, OLD],
    [other, NEW],
  ] as const) {
    const { archive, close } = await openSqliteStorage(path, storageHost());
    await archive.write(pets);
    for (const suffix of ['', '-wal']) await copyFile(path + suffix, `${path}-crashed${suffix}`);
    await close();
  }
  await succeeds(['backup', '--from', `sqlite:${other}`, join(originals.path, 'backup.db')]);
});

afterAll(() => originals.remove());

beforeEach(async () => {
  const directory = join(dirname(await newFile()), "it's a shop");
  await mkdir(directory);
  file = join(directory, 'petstore.db');
  DATABASE_URL = `sqlite:${file}`;
  backup = join(directory, 'backup.db');
  await copyFile(join(originals.path, 'backup.db'), backup);
});

async function crash(): Promise<void> {
  for (const suffix of ['', '-wal'])
    await copyFile(join(originals.path, 'old.db-crashed') + suffix, file + suffix);
}

/** The pets of a file, as a service finds them. */
const petsIn = (path: string) => everythingIn(`sqlite:${path}`);

/** The files in the directory, without the lock of a service and what a reader needs. */
async function names(): Promise<readonly string[]> {
  return (await readdir(dirname(file))).filter((name) => !/\.lock$|-shm$/.test(name)).toSorted();
}

async function restore(from = backup): Promise<string> {
  return (await succeeds(['restore', from], { DATABASE_URL })).stdout;
}

async function expectRefused(message: string | RegExp, from = backup): Promise<void> {
  const before = await names();
  await refused(['restore', from], message, { env: { DATABASE_URL } });
  expect(await names()).toStrictEqual(before);
}

describe('a restore', () => {
  it('writes a new file that only its owner can read, and leaves the backup unchanged', async () => {
    const upTo = Number(NEW.at(-1)!.id) + 1e12;
    expect(await restore()).toBe(`restored ${backup}; new pets are assigned ids greater than ${upTo}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await petsIn(file)).toStrictEqual(NEW);
    const other = join(dirname(file), 'other.db');
    await symlink('target.db', other);
    const { stdout, stderr } = await succeeds(['restore', backup, '--to', `sqlite:${other}`, '--json']);
    expect(stderr + stdout).toBe(`petstore: wrote to sqlite:${other}\n{"file":"${backup}","upTo":${upTo}}\n`);
    expect(await petsIn(join(dirname(file), 'target.db'))).toStrictEqual(NEW);
    expect(await readFile(backup)).toStrictEqual(await readFile(join(originals.path, 'backup.db')));
  });

  it.each<readonly [string, readonly string[], number | undefined, () => Promise<void>]>([
    ['a database and its log', ['', '-wal'], OLD.length, crash],
    ['a log alone', ['-wal'], undefined, () => crash().then(() => rm(file))],
    ['a journal alone', ['-journal'], undefined, () => writeFile(`${file}-journal`, 'x')],
    ['an empty file', [''], 0, () => writeFile(file, '')],
    [
      'a copied backup beside an old log',
      ['', '-wal'],
      undefined,
      () => crash().then(() => copyFile(backup, file)),
    ],
  ])('replaces no file, but prints the command that moves it away: %s', async (_, suffixes, pets, make) => {
    await make();
    const before = await Promise.all(suffixes.map((suffix) => readFile(file + suffix)));
    const program = await fails(['restore', backup], { DATABASE_URL });
    const [, found, command = ''] =
      /^petstore: (.*) exists, and restore replaces nothing; .*: (mkdir .*)\n$/.exec(program.stderr) ?? [];
    expect(found, program.stderr).toBe(file + suffixes[0]);
    expect(await Promise.all(suffixes.map((suffix) => readFile(file + suffix)))).toStrictEqual(before);
    const moved = run('sh', ['-c', command]);
    expect(await moved.ended, moved.stderr).toStrictEqual(DONE);

    await restore();
    expect(await petsIn(file)).toStrictEqual(NEW);
    const kept = join(
      dirname(file),
      (await names()).find((name) => name.includes('before-restore'))!,
      'petstore.db',
    );
    expect(await Promise.all(suffixes.map((suffix) => readFile(kept + suffix)))).toStrictEqual(before);
    expect(pets === undefined ? undefined : (await petsIn(kept)).length).toBe(pets);
  });

  it('repairs a database whose files cp has mixed up, which every other command refuses', async () => {
    await crash();
    await copyFile(backup, file);
    const problem =
      `the SQLite file ${file} does not match its write-ahead log ${file}-wal; ` +
      'move both away, and restore a backup';
    for (const open of [openService, openSqliteForReading, openKeys]) {
      await expect(open(file)).rejects.toThrow(problem);
    }
    await refused(['backup', join(dirname(file), 'another.db')], problem, { env: { DATABASE_URL } });
    await refused(['check'], problem, { env: { DATABASE_URL } });
  });

  it.each(['.restoring', '.partial'])('never deletes a backup, even if its name is FILE%s', async (end) => {
    const named = file + end;
    await copyFile(backup, named);
    await damagePages(named);
    const bytes = await readFile(named);
    await expectRefused(
      / is damaged; nothing was written\n$| exists: wait for the other command, or move away /,
      named,
    );
    expect(await readFile(named)).toStrictEqual(bytes);
    await copyFile(backup, named);
    const program = new Command(['restore', named], { DATABASE_URL });
    expect(await program.ended).toBe(end === '.restoring' ? 0 : FAILED);
    expect(await readFile(named)).toStrictEqual(await readFile(backup));
  });
});

describe('a restore is refused and changes nothing', () => {
  it('while a service uses the files, and does not suggest to move them', async () => {
    await openService(file);
    await expectRefused(
      `the SQLite file ${file} is in use by another petstore service; stop that service first`,
    );
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
  });

  it('when the directory is read-only', async () => {
    await writeFile(`${file}.lock`, '', { mode: 0o666 });
    await chmod(backup, 0o644);
    await chmod(dirname(dirname(file)), 0o755);
    const problem = `${file} cannot be written: EACCES: permission denied, open '${file}.partial'`;
    await asNobody(dirname(file), 0o555, () => expectRefused(problem));
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

beforeEach(({ skip }) => skip(STRACE_MISSING !== undefined, STRACE_MISSING));

// A kill at any moment leaves nothing or the new pets: syncs.test.ts has the order, and `npm run power-loss` each moment.
it.each(['pwrite64:error=ENOSPC', 'rename:error=EIO'])(
  'a restore that fails with a system error leaves no file: %s',
  async (inject) => {
    const before = await names();
    const { program } = await traced(['restore', backup], { env: { DATABASE_URL }, inject });
    expect(await program.ended).toMatchObject({ code: 1 });
    expect(program.stderr).toMatch(/^petstore: .* cannot be written: .*\n$/);
    expect(await names()).toStrictEqual(before);
  },
);
