import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { allPetsIn } from '../../support/archives.ts';
import { asNobody } from '../../support/as-nobody.ts';
import { Command, FAILED, runFailing, expectRefusal, runCommand } from '../../support/command.ts';
import { DONE, run } from '../../support/process.ts';
import { STRACE_MISSING, runTraced } from '../../support/strace.ts';
import { newPath, openKeys, openService } from '../../support/sqlite.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { storageHost } from '../../support/storage-host.ts';

const CRASHED_PETS = archivedPets(5);
const BACKED_UP_PETS = archivedPets(7);

/** The path of the database to restore, where no file exists. A shell needs quotes for the name of its directory. */
let file: string;
let backup: string;
let DATABASE_URL: string;
/** This directory has the backup, and the files of a service that crashed while its pets were in the write-ahead log. */
let originals: TemporaryDirectory;

beforeAll(async () => {
  originals = await temporaryDirectory('restore');
  const [old, other] = [join(originals.path, 'old.db'), join(originals.path, 'other.db')];
  for (const [path, pets] of [
    [old, CRASHED_PETS],
    [other, BACKED_UP_PETS],
  ] as const) {
    const { archive, close } = await openSqliteStorage(path, storageHost());
    await archive.write(pets);
    for (const suffix of ['', '-wal']) await copyFile(path + suffix, `${path}-crashed${suffix}`);
    await close();
  }
  await runCommand(['backup', '--from', `sqlite:${other}`, join(originals.path, 'backup.db')]);
});

afterAll(() => originals.remove());

beforeEach(async () => {
  const directory = join(dirname(await newPath()), "it's a shop");
  await mkdir(directory);
  file = join(directory, 'petstore.db');
  DATABASE_URL = `sqlite:${file}`;
  backup = join(directory, 'backup.db');
  await copyFile(join(originals.path, 'backup.db'), backup);
});

/** Makes a database and a write-ahead log as a crashed service leaves them. */
async function copyCrashedFiles(): Promise<void> {
  for (const suffix of ['', '-wal'])
    await copyFile(join(originals.path, 'old.db-crashed') + suffix, file + suffix);
}

const petsIn = (path: string) => allPetsIn(`sqlite:${path}`);

/** Lists the files in the directory, without the lock of a service and the shared memory (`-shm`) of readers. */
async function listFiles(): Promise<readonly string[]> {
  return (await readdir(dirname(file))).filter((name) => !/\.lock$|-shm$/.test(name)).toSorted();
}

async function restore(from = backup): Promise<string> {
  return (await runCommand(['restore', from], { DATABASE_URL })).stdout;
}

async function expectRefused(message: string | RegExp, from = backup): Promise<void> {
  const before = await listFiles();
  await expectRefusal(['restore', from], message, { env: { DATABASE_URL } });
  expect(await listFiles()).toStrictEqual(before);
}

describe('a restore', () => {
  it('writes a new file that only its owner can read, and leaves the backup unchanged', async () => {
    const upTo = Number(BACKED_UP_PETS.at(-1)!.id) + 1e12;
    expect(await restore()).toBe(`restored ${backup}; new pets are assigned ids greater than ${upTo}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await petsIn(file)).toStrictEqual(BACKED_UP_PETS);
    const other = join(dirname(file), 'other.db');
    await symlink('target.db', other);
    const { stdout, stderr } = await runCommand(['restore', backup, '--to', `sqlite:${other}`, '--json']);
    expect(stderr + stdout).toBe(`petstore: wrote to sqlite:${other}\n{"file":"${backup}","upTo":${upTo}}\n`);
    expect(await petsIn(join(dirname(file), 'target.db'))).toStrictEqual(BACKED_UP_PETS);
    expect(await readFile(backup)).toStrictEqual(await readFile(join(originals.path, 'backup.db')));
  });

  it.each<readonly [string, readonly string[], number | undefined, () => Promise<void>]>([
    ['a database and its log', ['', '-wal'], CRASHED_PETS.length, copyCrashedFiles],
    ['a log alone', ['-wal'], undefined, () => copyCrashedFiles().then(() => rm(file))],
    ['a journal alone', ['-journal'], undefined, () => writeFile(`${file}-journal`, 'x')],
    ['an empty file', [''], 0, () => writeFile(file, '')],
    [
      'a copied backup and an old log',
      ['', '-wal'],
      undefined,
      () => copyCrashedFiles().then(() => copyFile(backup, file)),
    ],
  ])('does not replace %s, but prints a command that moves it', async (_, suffixes, pets, makeFiles) => {
    await makeFiles();
    const before = await Promise.all(suffixes.map((suffix) => readFile(file + suffix)));
    const program = await runFailing(['restore', backup], { DATABASE_URL });
    const [, existingFile, command = ''] =
      /^petstore: (.*) exists, and restore replaces nothing; .*: (mkdir .*)\n$/.exec(program.stderr) ?? [];
    expect(existingFile, program.stderr).toBe(file + suffixes[0]);
    expect(await Promise.all(suffixes.map((suffix) => readFile(file + suffix)))).toStrictEqual(before);
    const moveCommand = run('sh', ['-c', command]);
    expect(await moveCommand.ended, moveCommand.stderr).toStrictEqual(DONE);

    await restore();
    expect(await petsIn(file)).toStrictEqual(BACKED_UP_PETS);
    const movedPath = join(
      dirname(file),
      (await listFiles()).find((name) => name.includes('before-restore'))!,
      'petstore.db',
    );
    expect(await Promise.all(suffixes.map((suffix) => readFile(movedPath + suffix)))).toStrictEqual(before);
    expect(pets === undefined ? undefined : (await petsIn(movedPath)).length).toBe(pets);
  });

  it('is the advice of other commands when cp has copied a backup beside an old write-ahead log', async () => {
    await copyCrashedFiles();
    await copyFile(backup, file);
    const problem =
      `the SQLite file ${file} does not match its write-ahead log ${file}-wal; ` +
      'move both away, and restore a backup';
    for (const open of [openService, openSqliteForReading, openKeys]) {
      await expect(open(file)).rejects.toThrow(problem);
    }
    await expectRefusal(['backup', join(dirname(file), 'another.db')], problem, { env: { DATABASE_URL } });
    await expectRefusal(['check'], problem, { env: { DATABASE_URL } });
  });

  it.each(['.restoring', '.partial'])('never deletes a backup whose name ends in %s', async (ending) => {
    const namedBackup = file + ending;
    await copyFile(backup, namedBackup);
    await damagePages(namedBackup);
    const bytes = await readFile(namedBackup);
    await expectRefused(
      / is damaged; nothing was written\n$| exists: wait until the command that writes it /,
      namedBackup,
    );
    expect(await readFile(namedBackup)).toStrictEqual(bytes);
    await copyFile(backup, namedBackup);
    const program = new Command(['restore', namedBackup], { DATABASE_URL });
    expect(await program.ended).toBe(ending === '.restoring' ? 0 : FAILED);
    expect(await readFile(namedBackup)).toStrictEqual(await readFile(backup));
  });
});

describe('a restore is refused and changes nothing', () => {
  it('while a service uses the files, and its error does not suggest to move the files', async () => {
    await openService(file);
    await expectRefused(
      `the SQLite file ${file} is in use by another petstore service; stop that service first`,
    );
  });

  it.each<readonly [string, RegExp, (path: string) => Promise<void>]>([
    ['is damaged in the middle', / is damaged; nothing was written\n$/, damagePages],
    ['is no database', / is not a SQLite database/, (path) => writeFile(path, 'notes '.repeat(1000))],
    [
      'has a journal beside it',
      / is not a backup; make a backup of this file /,
      (path) => writeFile(`${path}-journal`, ''),
    ],
    ['does not exist', /there is no SQLite file /, (path) => rm(path)],
    ['is of a newer build', /; run a newer build /, bySql(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)],
    ['lacks an index', / is damaged \(the index \w+ is missing\); nothing was written\n$/, bySql(DROP_INDEX)],
    [
      'is the file of a service',
      / is not a backup; make a backup of this file /,
      bySql('PRAGMA journal_mode = WAL'),
    ],
    ['has an index that lacks rows', / is damaged; nothing was written\n$/, bySql(EMPTY_INDEX)],
  ])('when the backup %s', async (_, message, change) => {
    const other = join(dirname(await newPath()), 'other.db');
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

const DROP_INDEX = 'DROP INDEX pets_by_status';
const EMPTY_INDEX = `${DROP_INDEX}; CREATE INDEX pets_by_status ON pets (status) WHERE status = 'x';
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, ' WHERE status = ''x''', '') WHERE name = 'pets_by_status'`;

function bySql(statement: string): (path: string) => Promise<void> {
  return async (path) => {
    using db = new DatabaseSync(path);
    db.enableDefensive(false);
    db.exec(statement);
  };
}

/** Overwrites the two pages after the first page, which has the header and the schema. */
async function damagePages(path: string): Promise<void> {
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0xff, 4096, 3 * 4096));
}

beforeEach(({ skip }) => skip(STRACE_MISSING !== undefined, STRACE_MISSING));

// A restore that is killed leaves no database or a complete one: syncs.test.ts tests the order of its writes and
// flushes, and `npm run power-loss` tests a loss of power at each moment.
it.each(['pwrite64:error=ENOSPC', 'rename:error=EIO'])(
  'a restore that fails with a system error leaves no new file: %s',
  async (inject) => {
    const before = await listFiles();
    const { program } = await runTraced(['restore', backup], { env: { DATABASE_URL }, inject });
    expect(await program.ended).toMatchObject({ code: 1 });
    expect(program.stderr).toMatch(/^petstore: .* cannot be written: .*\n$/);
    expect(await listFiles()).toStrictEqual(before);
  },
);
