import { link, readdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { writeWholeFile } from '../../../src/adapters/files/durable-files.ts';
import { refuseDatabaseFile } from '../../../src/adapters/sqlite/file-format.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { expectRefusal } from '../../support/command.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { fileAfterKill, openService } from '../../support/sqlite.ts';

const SUFFIXES = ['', '-wal', '-shm', '.lock', '-journal'];
const PETS = archivedPets(5);

/** The files of a service that has crashed with its pets in the write-ahead log. */
let file: string;

beforeEach(async () => {
  file = await fileAfterKill(({ archive }) => archive.write(PETS));
  await writeFile(`${file}.lock`, '');
});

/** Returns every file in the directory of the database with its contents, without `-shm`, which any read creates. */
async function contentsOfFiles(): Promise<readonly (readonly [string, string])[]> {
  const names = (await readdir(dirname(file))).filter((name) => !name.endsWith('-shm')).toSorted();
  return Promise.all(
    names.map(async (name) => [name, await readFile(join(dirname(file), name), 'hex')] as const),
  );
}

/** Expects that `export` and `backup` refuse to write to this path with one line, and that they change nothing. */
async function expectRefused(path: string): Promise<void> {
  const before = await contentsOfFiles();
  const from = `sqlite:${file}`;
  await expectRefusal(
    ['export', '--from', from, path],
    /^petstore: \S+ (?:belongs to|cannot be used:) .*; choose another \w+\n$/,
  );
  await expectRefusal(
    ['backup', '--from', from, path],
    /^petstore: \S+ (?:exists|belongs to|cannot be used:).*; choose another \w+\n$/,
  );
  expect(await contentsOfFiles()).toStrictEqual(before);
}

it.each(SUFFIXES)('no command writes over a file of the storage that it reads: FILE%s', async (suffix) => {
  await expectRefused(file + suffix);
  const service = await openService(file);
  await expectRefused(file + suffix);
  expect(await service.archive.read(0n, 10)).toStrictEqual(PETS);
});

it.each(['', '-wal'])(
  'no command writes over a file of the storage that it reads: FILE%s by other names',
  async (suffix) => {
    const directory = dirname(file);
    const other = join(directory, 'pets.ndjson.gz');
    const linked = join(await testDirectory(), 'linked');
    await symlink(directory, linked);
    await expectRefused(relative(process.cwd(), file + suffix));
    await expectRefused(join(linked, 'petstore.db') + suffix);
    await symlink(`petstore.db${suffix}`, other);
    await expectRefused(other);
    await unlink(other);
    await link(file + suffix, other);
    expect(() => refuseDatabaseFile(other)).toThrow(
      `${other} belongs to a SQLite database; choose another FILE`,
    );
  },
);

it('no command writes over a file of the storage that it reads: FILE, which is missing while its log exists', async () => {
  const service = await openService(file);
  await unlink(file);
  expect(() => refuseDatabaseFile(file)).toThrow(`${file} belongs to a SQLite database`);
  await service.close();
});

it.each([
  ['SQLite format 3\0', 'a database'],
  ['377f0682', 'a write-ahead log'],
  ['377f0683', 'a write-ahead log of the other byte order'],
  ['d9d505f920a163d7', 'a rollback journal'],
])('no command writes over a file that begins with %j: %s', async (magic) => {
  const path = join(dirname(file), 'pets.ndjson.gz');
  const encoding = /^[0-9a-f]+$/.test(magic) ? 'hex' : 'latin1';
  await writeFile(path, Buffer.concat([Buffer.from(magic, encoding), Buffer.alloc(100)]));
  await expectRefused(path);
});

it('no command writes over a file that becomes a database while the command runs, and it removes its own files', async () => {
  const path = join(dirname(file), 'pets.ndjson');
  const write = async (partial: string) => {
    // SQLite leaves a journal behind when the disk is full.
    for (const name of [path, `${partial}-journal`]) await writeFile(name, 'SQLite format 3\0');
  };
  await expect(writeWholeFile(path, { check: refuseDatabaseFile, write })).rejects.toThrow(
    `${path} belongs to a SQLite database; choose another FILE`,
  );
  expect(await readFile(path, 'utf8')).toBe('SQLite format 3\0');
  expect((await readdir(dirname(path))).filter((name) => name.includes('partial'))).toStrictEqual([]);
});

it.each([...SUFFIXES.slice(1), '-WAL'])(
  'no storage is opened under the name of a file beside a database: FILE%s',
  async (suffix) => {
    const before = await contentsOfFiles();
    const linked = join(dirname(file), 'link.db');
    await symlink(`petstore.db${suffix}`, linked);
    const problem = `${file}${suffix} cannot be used: ${suffix} is for files beside a database; choose another name`;
    for (const path of [file + suffix, linked]) {
      const DATABASE_URL = `sqlite:${path}`;
      const options = { env: { DATABASE_URL } };
      await expectRefusal(['keys', 'create', '--label', 'x'], problem, options);
      await expectRefusal(['import', 'examples/pets.ndjson'], problem, options);
      await expectRefusal(['copy', '--from', `sqlite:${file}`, '--to', DATABASE_URL], problem);
      await expectRefusal(['restore', file], problem, options);
    }
    await unlink(linked);
    expect(await contentsOfFiles()).toStrictEqual(before);
  },
);
