import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SQLITE_PATH, sqliteStorage } from '../../../src/adapters/sqlite/storage.ts';
import { asNobody } from '../../support/as-nobody.ts';
import { run } from '../../support/process.ts';
import { silentHost } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { CREATING, EVERY, USING } from './openers.ts';

/** Creates an empty database. */
async function createDatabase(path: string): Promise<void> {
  await (await sqliteStorage.openForWriting(`sqlite:${path}`, silentHost)).close();
}

async function expectRefused(opening: Promise<unknown>, message: string): Promise<void> {
  await expect(opening).rejects.toMatchObject({ kind: 'storage-setup', message });
}

it('the SQLite storage accepts URLs with a path, and is not shared by services', () => {
  expect(sqliteStorage).toMatchObject({ urlForm: 'sqlite:PATH', persistent: true, shared: false });
  expect(sqliteStorage.isUrl('sqlite:a:b.db')).toBe(true);
  for (const url of ['sqlite:', 'sqlite', 'xsqlite:a.db', 'memory:']) {
    expect(sqliteStorage.isUrl(url), url).toBe(false);
  }
});

it.each(CREATING)(
  'the URL of a database that %s may create must be in a directory that exists',
  async (_, open) => {
    const directory = await testDirectory();
    const path = join(directory, 'dta/petstore.db');
    await expectRefused(
      open(`sqlite:${path}`),
      `there is no directory ${directory}/dta for the SQLite file; correct the path or create the directory`,
    );
    expect(await readdir(directory)).toStrictEqual([]);

    await mkdir(join(directory, 'dta'));
    await (await open(`sqlite:${path}`)).close();
    expect(existsSync(path)).toBe(true);
  },
);

it.each(USING)('the URL of a database for %s must name a file that exists', async (_, open) => {
  const directory = await testDirectory();
  const path = join(directory, 'mistyped.db');
  await expectRefused(open(`sqlite:${path}`), `there is no SQLite file ${path}`);
  expect(await readdir(directory)).toStrictEqual([]);

  await createDatabase(path);
  await (await open(`sqlite:${path}`)).close();
});

it('the default file is created with its directory, and any relative path is used as the name of a file', async () => {
  const names = [DEFAULT_SQLITE_PATH, 'file:pets.db', 'a b%c.db'];
  const directory = await testDirectory();
  const opener = fileURLToPath(new URL('./opener.ts', import.meta.url));

  const program = run(process.execPath, [opener, ...names.map((name) => `sqlite:${name}`)], {}, directory);
  await program.ended;

  expect([program.stdout, program.stderr]).toStrictEqual(['', '']);
  for (const use of ['service', 'writing', 'keys']) {
    for (const name of names) expect(existsSync(join(directory, use, name)), `${use}: ${name}`).toBe(true);
  }
});

describe.each(EVERY)('the URL of a database for %s', (_, open) => {
  it.each([
    [
      'sqlite://relative.db',
      'sqlite:// is ambiguous; write sqlite:relative/path.db or sqlite:/absolute/path.db',
    ],
    [
      'sqlite:///petstore.db',
      'sqlite:// is ambiguous; write sqlite:relative/path.db or sqlite:/absolute/path.db',
    ],
    ['sqlite::memory:', 'sqlite::memory: is not a file; write memory:'],
  ])('is refused when it is ambiguous: %s', async (url, message) => {
    await expectRefused(open(url), message);
  });

  it.each([
    ['pets.db\r', 'pets.db\\u{d}', 'pets.db'],
    ['pets.db\n', 'pets.db\\u{a}', 'pets.db'],
    ['pets.db\t', 'pets.db\\u{9}', 'pets.db'],
    ['pets.db ', 'pets.db ', 'pets.db'],
    [' pets.db', ' pets.db', 'pets.db'],
    ['pets.db\u00a0', 'pets.db\\u{a0}', 'pets.db'],
    ['pets.db\u200b', 'pets.db\\u{200b}', 'pets.db'],
    ['\ufeffpets.db', '\\u{feff}pets.db', 'pets.db'],
    ['pets.db # the shop', 'pets.db # the shop', 'pets.db'],
    ['pets.db?mode=ro', 'pets.db?mode=ro', 'pets.db'],
    ['my%20pets.db', 'my%20pets.db', 'my pets.db'],
    ['%C3%A4.db', '%C3%A4.db', 'ä.db'],
    ['a\u001bb.db', 'a\\u{1b}b.db', 'ab.db'],
    ['"pets.db"', '"pets.db"', 'pets.db'],
    ['?', '?', 'PATH'],
  ])(
    'is refused with a corrected URL when its path %j is probably a mistake, unless that file exists',
    async (name, shown, meant) => {
      const directory = await testDirectory();
      await createDatabase(join(directory, 'pets.db'));
      const before = await readdir(directory);
      await expectRefused(
        open(`sqlite:${directory}/${name}`),
        `there is no SQLite file "${shown}", and the text after sqlite: must be a path without escapes, query or comment; ` +
          `write sqlite:${directory}/${meant}`,
      );
      expect(await readdir(directory)).toStrictEqual(before);
      await copyFile(join(directory, 'pets.db'), join(directory, name));
      await (await open(`sqlite:${directory}/${name}`)).close();
    },
  );

  it('can name a directory with special characters', async () => {
    const directory = join(await testDirectory(), 'C# 100%20?');
    await mkdir(directory);
    await createDatabase(join(directory, 'pets.db'));
    await (await open(`sqlite:${directory}/pets.db`)).close();
    expect(await readdir(directory)).toContain('pets.db');
  });

  it.each([
    ['file/petstore.db', 'ENOTDIR: not a directory'],
    [`${'x'.repeat(256)}.db`, 'ENAMETOOLONG: name too long'],
    ['loop/petstore.db', 'ELOOP: too many symbolic links encountered'],
    ['closed/petstore.db', 'EACCES: permission denied'],
  ])('is refused with the error of the operating system when its path is %s', async (name, reason) => {
    const directory = await testDirectory();
    await chmod(directory, 0o755);
    await writeFile(join(directory, 'file'), '');
    await symlink('loop', join(directory, 'loop'));
    await mkdir(join(directory, 'closed'), 0o700);
    const path = join(directory, name);
    const refusal = `the SQLite file ${path} cannot be opened: ${reason}, stat '${path}'`;
    await asNobody(directory, 0o755, () => expectRefused(open(`sqlite:${path}`), refusal));
  });
});
