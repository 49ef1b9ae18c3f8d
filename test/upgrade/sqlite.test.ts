import { copyFile, cp, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { SCHEMA_VERSION } from '../../src/adapters/sqlite/schema.ts';
import { ask } from '../support/client.ts';
import { ROOT, run } from '../support/process.ts';
import { damage, integrityOf, newFile } from '../support/sqlite.ts';
import { STRACE_MISSING } from '../support/strace.ts';
import { testDirectory } from '../support/test-directory.ts';
import { nextBuild, runBuild } from './next-build.ts';

const FIXTURE = join(import.meta.dirname, 'fixtures/1.0.0/sqlite.db');
const OLD = SCHEMA_VERSION;
const NEW = SCHEMA_VERSION + 1;

let next: string;
let file: string;
beforeEach(async () => {
  next = await nextBuild();
  file = await newFile();
  await copyFile(FIXTURE, file);
  await petstore(ROOT, 'migrate');
});

/** Runs a command of a build on the file. */
async function petstore(root: string, ...args: readonly string[]) {
  const program = runBuild(root, args, { DATABASE_URL: `sqlite:${file}`, API_KEYS: 'a-key-of-the-tests' });
  const ended = await program.ended;
  return { ...ended, stdout: program.stdout, stderr: program.stderr };
}

function schemaOf(path: string) {
  using db = new DatabaseSync(path);
  const { user_version: version } = db.prepare('PRAGMA user_version').get()!;
  const objects = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all();
  return { version, objects, pets: db.prepare('SELECT count(*) AS n FROM pets').get()!['n'] };
}

it('petstore migrate of the next build makes of an older file what that build makes of no file', async () => {
  const migrated = await petstore(next, 'migrate');
  expect(migrated).toMatchObject({
    code: 0,
    stdout: `the database "${file}" has schema version ${NEW} (before: ${OLD})\n`,
  });
  expect((await petstore(next, 'migrate')).stdout).toContain(`has schema version ${NEW} (as before)`);

  const made = schemaOf(file);
  file = await newFile();
  await petstore(next, 'keys', 'create', '--label', 'x');
  expect(schemaOf(file)).toStrictEqual({ ...made, pets: 0 });
});

it('a file is upgraded by the start of a service, which stores new fields and finds them again', async () => {
  const service = runBuild(next, [], { DATABASE_URL: `sqlite:${file}`, API_KEYS: 'a-key-of-the-tests' });
  const url = `${await service.url()}/v1/pets`;
  const inUse = await petstore(next, 'migrate');
  expect([inUse.code, inUse.stderr]).toStrictEqual([
    1,
    `petstore: the SQLite file ${file} is in use by another petstore service; stop that service first\n`,
  ]);

  const body = '{"name":"Rex","categoryId":7,"status":"sold","nickname":"Rexy 🐈"}';
  const added = await ask(url, { key: 'a-key-of-the-tests', body });
  const { body: page } = await ask(`${url}?status=sold`, { key: 'a-key-of-the-tests' });
  expect([added.status, page.endsWith(`,${added.body}]`)]).toStrictEqual([201, true]);
  expect(added.body).toBe(`{"id":1000000000006,${body.slice(1)}`);
  expect((await petstore(next, 'export')).stdout).toContain(`${added.body}\n`);
});

const COMMANDS = [
  ['check'],
  ['export'],
  ['import', join(ROOT, 'examples/pets.ndjson')],
  ['copy', '--from', 'FILE', '--to', 'FILE-copy'],
  ['copy', '--from', 'FILE-another', '--to', 'FILE'],
  ['skip-ids'],
  ['keys', 'list'],
  ['keys', 'create', '--label', 'x'],
];

it('every other command of the next build says what to run, and changes nothing', async () => {
  const before = await readFile(file);
  await runBuild(next, ['keys', 'create', '--label', 'x'], {
    DATABASE_URL: `sqlite:${file}-another`,
  }).succeeded();
  const refusals = await Promise.all(
    COMMANDS.map((words) => petstore(next, ...words.map((word) => word.replace('FILE', `sqlite:${file}`)))),
  );
  const advice = `start the service on it, or run: petstore migrate sqlite:${file}`;
  for (const { stderr } of refusals) {
    expect(stderr).toBe(
      `petstore: the SQLite file ${file} has schema version ${OLD}, this build needs ${NEW}; ${advice}\n`,
    );
  }
  expect(await readFile(file)).toStrictEqual(before);
});

it('each build backs up a file of both versions, and restores what it has steps for', async () => {
  const backups = [next, ROOT].map((_, n) => `${file}-${n}`);
  await petstore(next, 'backup', backups[0]!);
  await petstore(next, 'migrate');
  await petstore(ROOT, 'backup', backups[1]!);
  expect(backups.map((path) => schemaOf(path).version)).toStrictEqual([OLD, NEW]);

  const restored = await newFile();
  for (const [n, path] of backups.entries()) {
    file = `${restored}${n}`;
    expect((await petstore(next, 'restore', path)).stdout).toContain(
      'new pets get ids greater than 2000000000005\n',
    );
    expect(schemaOf(file)).toStrictEqual(schemaOf(path));
  }
  file = `${restored}2`;
  const refusal = new RegExp(
    `has schema version ${NEW}, this build needs ${OLD}; run a newer build of petstore\\n$`,
  );
  expect((await petstore(ROOT, 'restore', backups[1]!)).stderr).toMatch(refusal);
  file = `${restored}1`;
  expect((await petstore(ROOT, 'serve')).stderr).toMatch(refusal);
});

it('a file with a damaged record is not migrated, and its own build still serves it', async () => {
  damage(file, "UPDATE pets SET name = x'00' WHERE id = 2");
  const before = schemaOf(file);
  const { code, stderr } = await petstore(next, 'migrate');
  expect({ code, stderr }).toStrictEqual({
    code: 1,
    stderr:
      `petstore: the SQLite file ${file} has a damaged record (type mismatch on DEFAULT), and was not migrated; find ` +
      'the record with petstore check of the build before, and repair it\n',
  });
  expect(schemaOf(file)).toStrictEqual(before);
  expect((await petstore(ROOT, 'check')).stdout).toMatch(/^pet 2: .*name/m);
});

describe.skipIf(STRACE_MISSING)(
  `a migration that is killed${STRACE_MISSING ? ` (left out: ${STRACE_MISSING})` : ''}`,
  () => {
    // Everything by which SQLite changes files.
    it.each(['pwrite64', 'fsync', 'ftruncate', 'unlink'])(
      'leaves the old or the new version whole, and is repeated, whichever %s it is killed at',
      async (call) => {
        const [old, kept] = [schemaOf(file), `${await testDirectory()}/kept.db`];
        await copyFile(file, kept);
        const command = [process.execPath, join(next, 'bin/petstore.js'), 'migrate', `sqlite:${file}`];
        const seen = new Set<unknown>();
        for (let n = 1, isKilled = true; isKilled; n++) {
          const kill = ['-f', '-o', '/dev/null', '-e', `inject=${call}:signal=KILL:when=${n}`];
          await copyFile(kept, file);
          isKilled = (await run('strace', [...kill, ...command]).ended).code !== 0;
          const copy = `${await testDirectory()}/left`;
          await cp(dirname(file), copy, { recursive: true });
          const left = join(copy, 'petstore.db');
          expect(integrityOf(left)).toBe('ok');
          const { version, objects, pets } = schemaOf(left);
          expect({ pets, isOld: isDeepStrictEqual(objects, old.objects) }).toStrictEqual({
            pets: old.pets,
            isOld: version === OLD,
          });
          seen.add(version);
          expect((await petstore(next, 'migrate')).code).toBe(0);
          expect(schemaOf(file)).toMatchObject({ version: NEW, pets });
        }
        expect([...seen]).toStrictEqual([OLD, NEW]);
        expect((await petstore(next, 'check')).stdout).toBe('checked 5 pets and 4 API keys\n');
      },
      200_000,
    );
  },
);
