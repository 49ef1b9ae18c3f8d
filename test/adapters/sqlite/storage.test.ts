import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SQLITE_PATH, sqliteStorage } from '../../../src/adapters/sqlite/storage.ts';
import { run } from '../../support/process.ts';
import { silentLog } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';

type Way = readonly [string, (url: string) => Promise<{ close(): Promise<void> }>];

const CREATING: readonly Way[] = [
  ['a service', (url) => sqliteStorage.open(url, { for: 'service', log: silentLog, autoMigrate: false })],
  ['a command that writes pets', (url) => sqliteStorage.open(url, { for: 'writing' })],
  ['a command that creates a key', (url) => sqliteStorage.open(url, { for: 'keys', mayCreate: true })],
];
const READING: readonly Way[] = [
  ['a command that reads pets', (url) => sqliteStorage.open(url, { for: 'reading' })],
  ['a check', (url) => sqliteStorage.open(url, { for: 'checking' })],
  ['a command that lists keys', (url) => sqliteStorage.open(url, { for: 'keys', mayCreate: false })],
  [
    'a backup',
    async (url) => {
      await sqliteStorage.backUp!(url, `${await testDirectory()}/backup.db`, () => {});
      return { close: async () => {} };
    },
  ],
];

it('is chosen by a URL with a path, and only one service at a time can open it', () => {
  expect(sqliteStorage).toMatchObject({ urlForm: 'sqlite:PATH', persistent: true, shared: false });
  expect(sqliteStorage.isUrl('sqlite:a:b.db')).toBe(true);
  for (const url of ['sqlite:', 'sqlite', 'xsqlite:a.db', 'memory:']) {
    expect(sqliteStorage.isUrl(url), url).toBe(false);
  }
});

describe.each(CREATING)('the URL of a database that %s may create', (_, open) => {
  it('must be in a directory that exists', async () => {
    const directory = await testDirectory();
    await expect(open(`sqlite:${directory}/dta/petstore.db`)).rejects.toMatchObject({
      kind: 'storage-setup',
      message: `there is no directory ${directory}/dta for the SQLite file; correct the path or create the directory`,
    });
    expect(await readdir(directory)).toStrictEqual([]);

    await mkdir(join(directory, 'dta'));
    const storage = await open(`sqlite:${directory}/dta/petstore.db`);
    await storage.close();
    expect(existsSync(join(directory, 'dta/petstore.db'))).toBe(true);
  });
});

it('the default is created with its directory, and a relative path is always the name of a file', async () => {
  const names = [DEFAULT_SQLITE_PATH, 'file:pets.db?mode=memory', 'a b#c%d?.db'];
  const directory = await testDirectory();
  const opener = fileURLToPath(new URL('./opener.ts', import.meta.url));

  const program = run(process.execPath, [opener, ...names.map((name) => `sqlite:${name}`)], {}, directory);
  await program.ended;

  expect([program.stdout, program.stderr]).toStrictEqual(['', '']);
  for (const way of ['service', 'writing', 'keys']) {
    for (const name of names) expect(existsSync(join(directory, way, name)), `${way}: ${name}`).toBe(true);
  }
});

describe.each(READING)('the URL of a database for %s', (_, open) => {
  it('must name a file that exists', async () => {
    const directory = await testDirectory();
    await expect(open(`sqlite:${directory}/mistyped.db`)).rejects.toMatchObject({
      kind: 'storage-setup',
      message: `there is no SQLite file ${directory}/mistyped.db`,
    });
    expect(await readdir(directory)).toStrictEqual([]);

    await (await sqliteStorage.open(`sqlite:${directory}/pets.db`, { for: 'writing' })).close();
    await (await open(`sqlite:${directory}/pets.db`)).close();
    expect(await readdir(directory)).toContain('pets.db');
  });
});

describe.each([...CREATING, ...READING])('an ambiguous URL for %s', (_, open) => {
  it.each([
    [
      'sqlite://relative.db',
      'sqlite://relative.db is ambiguous; write sqlite:relative/path.db or sqlite:/absolute/path.db',
    ],
    [
      'sqlite:///petstore.db',
      'sqlite:///petstore.db is ambiguous; write sqlite:relative/path.db or sqlite:/absolute/path.db',
    ],
    ['sqlite::memory:', 'sqlite::memory: is not a file; write memory:'],
  ])('is refused: %s', async (url, message) => {
    await expect(open(url)).rejects.toMatchObject({ kind: 'storage-setup', message });
  });
});
