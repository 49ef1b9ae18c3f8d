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

/** The pets of a service that has crashed. */
const OLD_PETS = archivedPets(5);
const BACKUP_PETS = archivedPets(7);

/**
 * The path to which a test restores. At first, no file exists there. A shell command must quote the name of the
 * directory, because this name has spaces and an apostrophe.
 */
let file: string;
/** The path of a backup, a new copy for each test. */
let backup: string;
let DATABASE_URL: string;
/** This directory has the backup, and the files of a service that crashed: a database and its write-ahead log (WAL). */
let originals: TemporaryDirectory;

beforeAll(async () => {
  originals = await temporaryDirectory('restore');
  const [oldPath, otherPath] = [join(originals.path, 'old.db'), join(originals.path, 'other.db')];
  for (const [path, pets] of [
    [oldPath, OLD_PETS],
    [otherPath, BACKUP_PETS],
  ] as const) {
    const { archive, close } = await openSqliteStorage(path, storageHost());
    await archive.write(pets);
    // Before the database is closed, its pets are in the write-ahead log, as after a crash.
    for (const suffix of ['', '-wal']) await copyFile(path + suffix, `${path}-crashed${suffix}`);
    await close();
  }
  await runCommand(['backup', '--from', `sqlite:${otherPath}`, join(originals.path, 'backup.db')]);
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

/** Copies the database and the write-ahead log of the crashed service to the path `file`. */
async function copyCrashedFiles(): Promise<void> {
  for (const suffix of ['', '-wal'])
    await copyFile(join(originals.path, 'old.db-crashed') + suffix, file + suffix);
}

const petsIn = (path: string) => allPetsIn(`sqlite:${path}`);

/** Lists the files beside `file`, without the lock of a service and the shared memory (`-shm`) of readers. */
async function listFiles(): Promise<readonly string[]> {
  return (await readdir(dirname(file))).filter((name) => !/\.lock$|-shm$/.test(name)).toSorted();
}

async function restore(from = backup): Promise<string> {
  return (await runCommand(['restore', from], { DATABASE_URL })).stdout;
}

/** Expects that a restore fails with this message, and neither adds nor removes a file. */
async function expectRestoreRefused(message: string | RegExp, from = backup): Promise<void> {
  const oldFiles = await listFiles();
  await expectRefusal(['restore', from], message, { env: { DATABASE_URL } });
  expect(await listFiles()).toStrictEqual(oldFiles);
}

describe('a restore', () => {
  it('writes a new file that only its owner can read, and leaves the backup unchanged', async () => {
    // A backup skips 10¹² ids, because the service may assign ids after the backup. `upTo` is the last skipped id.
    const upTo = Number(BACKUP_PETS.at(-1)!.id) + 1e12;
    expect(await restore()).toBe(`restored ${backup}; new pets are assigned ids greater than ${upTo}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await petsIn(file)).toStrictEqual(BACKUP_PETS);
    const link = join(dirname(file), 'other.db');
    await symlink('target.db', link);
    const { stdout, stderr } = await runCommand(['restore', backup, '--to', `sqlite:${link}`, '--json']);
    expect(stderr + stdout).toBe(`petstore: wrote to sqlite:${link}\n{"file":"${backup}","upTo":${upTo}}\n`);
    expect(await petsIn(join(dirname(file), 'target.db'))).toStrictEqual(BACKUP_PETS);
    expect(await readFile(backup)).toStrictEqual(await readFile(join(originals.path, 'backup.db')));
  });

  // Each row has what exists, the suffixes of its files, and how many pets it has. `undefined`: it cannot be opened.
  it.each<readonly [string, readonly string[], number | undefined, () => Promise<void>]>([
    ['a database and its write-ahead log', ['', '-wal'], OLD_PETS.length, copyCrashedFiles],
    ['a write-ahead log alone', ['-wal'], undefined, () => copyCrashedFiles().then(() => rm(file))],
    ['a journal alone', ['-journal'], undefined, () => writeFile(`${file}-journal`, 'x')],
    ['an empty file', [''], 0, () => writeFile(file, '')],
    [
      'a copy of the backup beside an old write-ahead log',
      ['', '-wal'],
      undefined,
      () => copyCrashedFiles().then(() => copyFile(backup, file)),
    ],
  ])('does not replace %s, but prints a command that moves it', async (_, suffixes, petCount, makeFiles) => {
    await makeFiles();
    const oldBytes = await Promise.all(suffixes.map((suffix) => readFile(file + suffix)));
    const program = await runFailing(['restore', backup], { DATABASE_URL });
    const [, existingFile, moveCommand = ''] =
      /^petstore: (.*) exists, and restore replaces nothing; .*: (mkdir .*)\n$/.exec(program.stderr) ?? [];
    expect(existingFile, program.stderr).toBe(file + suffixes[0]);
    expect(await Promise.all(suffixes.map((suffix) => readFile(file + suffix)))).toStrictEqual(oldBytes);
    const shell = run('sh', ['-c', moveCommand]);
    expect(await shell.ended, shell.stderr).toStrictEqual(DONE);

    await restore();
    expect(await petsIn(file)).toStrictEqual(BACKUP_PETS);
    const movedPath = join(
      dirname(file),
      (await listFiles()).find((name) => name.includes('before-restore'))!,
      'petstore.db',
    );
    expect(await Promise.all(suffixes.map((suffix) => readFile(movedPath + suffix)))).toStrictEqual(oldBytes);
    expect(petCount === undefined ? undefined : (await petsIn(movedPath)).length).toBe(petCount);
  });

  it('is recommended by the service and by commands when a database does not match its write-ahead log', async () => {
    await copyCrashedFiles();
    // The operator has replaced the database with `cp`, but has left the old write-ahead log.
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
    // A restore writes to `FILE.partial` first. It is refused if this file exists.
    const namedBackup = file + ending;
    await copyFile(backup, namedBackup);
    await damagePages(namedBackup);
    const damagedBytes = await readFile(namedBackup);
    await expectRestoreRefused(
      / is damaged; nothing was written\n$| exists: wait until the command that writes it /,
      namedBackup,
    );
    expect(await readFile(namedBackup)).toStrictEqual(damagedBytes);
    await copyFile(backup, namedBackup);
    const program = new Command(['restore', namedBackup], { DATABASE_URL });
    expect(await program.ended).toBe(ending === '.restoring' ? 0 : FAILED);
    expect(await readFile(namedBackup)).toStrictEqual(await readFile(backup));
  });
});

describe('a restore is refused and changes nothing', () => {
  it('while a service uses the files', async () => {
    await openService(file);
    // The message does not suggest to move the files, because the service would go on writing to them.
    await expectRestoreRefused(
      `the SQLite file ${file} is in use by another petstore service; stop that service first`,
    );
  });

  it.each<readonly [string, RegExp, (path: string) => Promise<void>]>([
    ['is damaged in the middle', / is damaged; nothing was written\n$/, damagePages],
    ['is not a database', / is not a SQLite database/, (path) => writeFile(path, 'notes '.repeat(1000))],
    [
      'has a journal',
      / is not a backup; make a backup of this file /,
      (path) => writeFile(`${path}-journal`, ''),
    ],
    ['does not exist', /there is no SQLite file /, (path) => rm(path)],
    ['has a newer schema', /; run a newer build /, bySql(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)],
    ['lacks an index', / is damaged \(the index \w+ is missing\); nothing was written\n$/, bySql(DROP_INDEX)],
    [
      'is the file of a service',
      / is not a backup; make a backup of this file /,
      bySql('PRAGMA journal_mode = WAL'),
    ],
    ['has an index that lacks rows', / is damaged; nothing was written\n$/, bySql(EMPTY_INDEX)],
  ])('when the backup %s', async (_, message, change) => {
    const badBackup = join(dirname(await newPath()), 'other.db');
    await copyFile(backup, badBackup);
    await change(badBackup);
    await expectRestoreRefused(message, badBackup);
  });

  it('when the directory of the database is read-only', async () => {
    // The command can lock the database and read the backup, but cannot write to the directory.
    await writeFile(`${file}.lock`, '', { mode: 0o666 });
    await chmod(backup, 0o644);
    await chmod(dirname(dirname(file)), 0o755);
    const problem = `${file} cannot be written: EACCES: permission denied, open '${file}.partial'`;
    await asNobody(dirname(file), 0o555, () => expectRestoreRefused(problem));
  });
});

const DROP_INDEX = 'DROP INDEX pets_by_status';
/** Replaces an index by an empty one. The schema then claims that the index has all rows. */
const EMPTY_INDEX = `${DROP_INDEX}; CREATE INDEX pets_by_status ON pets (status) WHERE status = 'x';
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, ' WHERE status = ''x''', '') WHERE name = 'pets_by_status'`;

/** Returns a function that changes a SQLite file with this statement. */
function bySql(statement: string): (path: string) => Promise<void> {
  return async (path) => {
    using db = new DatabaseSync(path);
    db.enableDefensive(false);
    db.exec(statement);
  };
}

/** Overwrites the second and the third page. The header and the schema, which are in the first page, do not change. */
async function damagePages(path: string): Promise<void> {
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0xff, 4096, 3 * 4096));
}

// Other tests show that a killed restore leaves either no database or a complete database: syncs.test.ts tests the
// order of its writes and flushes, and `npm run power-loss` tests a loss of power at each moment.
it.for(['pwrite64:error=ENOSPC', 'rename:error=EIO'])(
  'a restore leaves no new file when a system call fails: %s',
  async (inject, { skip }) => {
    skip(STRACE_MISSING !== undefined, STRACE_MISSING);
    const oldFiles = await listFiles();
    const { program } = await runTraced(['restore', backup], { env: { DATABASE_URL }, inject });
    expect(await program.ended).toMatchObject({ code: 1 });
    expect(program.stderr).toMatch(/^petstore: .* cannot be written: .*\n$/);
    expect(await listFiles()).toStrictEqual(oldFiles);
  },
);
