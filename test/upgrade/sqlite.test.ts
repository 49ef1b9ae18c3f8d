import { copyFile, cp, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it } from 'vitest';
import { SCHEMA_VERSION } from '../../src/adapters/sqlite/schema.ts';
import { ask } from '../support/client.ts';
import { ROOT, run } from '../support/process.ts';
import { damage, integrityOf, newPath } from '../support/sqlite.ts';
import { STRACE_MISSING } from '../support/strace.ts';
import { testDirectory } from '../support/test-directory.ts';
import { nextBuild, runBuild } from './next-build.ts';

const FIXTURE = join(import.meta.dirname, 'fixtures/1.0.0/sqlite.db');
const OLD = SCHEMA_VERSION;
const NEW = SCHEMA_VERSION + 1;
const key = 'a-key-of-the-tests';

let next: string;
/** A database of this build, with the pets of the fixture. */
let file: string;
beforeEach(async () => {
  next = await nextBuild();
  file = await newPath();
  await copyFile(FIXTURE, file);
  await petstore(ROOT, 'migrate');
});

/** Starts the service or a command of the build in `root` on the file. */
function start(root: string, ...args: readonly string[]) {
  return runBuild(root, args, { DATABASE_URL: `sqlite:${file}`, API_KEYS: key });
}

/** Runs a command of the build in `root` on the file, to its end. */
async function petstore(root: string, ...args: readonly string[]) {
  const program = start(root, ...args);
  await program.ended;
  return program;
}

function contentOf(path: string) {
  using db = new DatabaseSync(path);
  const { user_version: version } = db.prepare('PRAGMA user_version').get()!;
  const schema = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all();
  return { version, schema, pets: db.prepare('SELECT count(*) AS n FROM pets').get()!['n'] };
}

it('petstore migrate of the next build gives an older file the same schema as that build gives a new file', async () => {
  const { stdout } = await petstore(next, 'migrate');
  expect(stdout).toBe(`the database "${file}" has schema version ${NEW} (before: ${OLD})\n`);
  expect((await petstore(next, 'migrate')).stdout).toBe(stdout.replace(`before: ${OLD}`, 'as before'));

  const migrated = contentOf(file);
  file = await newPath();
  await petstore(next, 'keys', 'create', '--label', 'x');
  expect(contentOf(file)).toStrictEqual({ ...migrated, pets: 0 });
});

it('a service of the next build upgrades the file of a killed service when it starts, and stores new fields', async () => {
  const killed = start(ROOT);
  const create = (url: string, body: string) => ask(`${url}/v1/pets`, { key, body });
  const { body: last } = await create(await killed.url(), '{"name":"Mia","categoryId":7}');
  await killed.kill();

  const service = start(next);
  const url = await service.url();
  await service.logged(`${file} had schema version ${OLD} and was migrated; earlier releases refuse it now`);
  expect((await petstore(next, 'migrate')).stderr).toContain(`${file} is in use by another petstore service`);
  const pet = '"name":"Rex","categoryId":7,"status":"sold","nickname":"Rexy 🐈"}';
  const { status, body: added } = await create(url, `{${pet}`);
  expect([status, added]).toStrictEqual([201, `{"id":1000000000007,${pet}`]);
  expect((await ask(`${url}/v1/pets`, { key })).body).toContain(`,${last},${added}]`);
  expect((await petstore(next, 'export')).stdout).toContain(`\n${last}\n${added}\n`);
});

it('every command of the next build but migrate prints what to run, and changes nothing', async () => {
  const before = await readFile(file);
  const url = `sqlite:${file}`;
  const commands =
    `check, export, import ${ROOT}/examples/pets.ndjson, copy --from ${url} --to ${url}2, skip-ids,
    keys list, keys create --label x`.split(/,\s+/);
  const refusals = await Promise.all(commands.map((line) => petstore(next, ...line.split(' '))));
  const versions = `has schema version ${OLD}, this build needs ${NEW}`;
  const advice = `start the service on it, or run: petstore migrate ${url}`;
  for (const { stderr } of refusals)
    expect(stderr).toBe(`petstore: the SQLite file ${file} ${versions}; ${advice}\n`);
  expect(await readFile(file)).toStrictEqual(before);
});

it('each build backs up files of both versions, and restores files of its own and of earlier versions', async () => {
  const [older, newer] = [`${file}-older`, `${file}-newer`];
  await petstore(next, 'backup', older);
  await petstore(next, 'migrate');
  await petstore(ROOT, 'backup', newer);
  expect([older, newer].map((path) => contentOf(path).version)).toStrictEqual([OLD, NEW]);

  for (const backup of [older, newer]) {
    file = `${backup}-restored`;
    const { stdout } = await petstore(next, 'restore', backup);
    expect(stdout).toBe(`restored ${backup}; new pets are assigned ids greater than 2000000000005\n`);
    expect(contentOf(file)).toStrictEqual(contentOf(backup));
  }
  const refusal = `has schema version ${NEW}, this build needs ${OLD}; run a newer build of petstore\n`;
  for (const words of [['serve'], ['restore', newer, '--to', `sqlite:${file}-again`]])
    expect((await petstore(ROOT, ...words)).stderr).toContain(refusal);
});

it('a file with a damaged record is not migrated, and the build that wrote it still reads it', async () => {
  damage(file, "UPDATE pets SET name = x'00' WHERE id = 2");
  const before = contentOf(file);
  expect((await petstore(next, 'migrate')).stderr).toBe(
    `petstore: the SQLite file ${file} has a damaged record (type mismatch on DEFAULT), and was not migrated; find ` +
      'the record with petstore check of the build before, and repair it\n',
  );
  expect(contentOf(file)).toStrictEqual(before);
  expect((await petstore(ROOT, 'check')).stdout).toMatch(/^pet 2: .*name/m);
});

// These are all system calls by which SQLite changes files.
it.skipIf(STRACE_MISSING).each(['pwrite64', 'fsync', 'ftruncate', 'unlink'])(
  `a migration that is killed at any call of %s leaves the whole old or the whole new version, and can be run again${STRACE_MISSING ? ` (left out: ${STRACE_MISSING})` : ''}`,
  async (call) => {
    const original = `${await testDirectory()}/original.db`;
    await copyFile(file, original);
    await petstore(next, 'migrate');
    const [old, migrated] = [contentOf(original), contentOf(file)];
    const command = [process.execPath, join(next, 'bin/petstore.js'), 'migrate', `sqlite:${file}`];
    const foundVersions = new Set<unknown>();
    for (let n = 1, isKilled = true; isKilled; n++) {
      await copyFile(original, file);
      const kill = ['-f', '-o', '/dev/null', '-e', `inject=${call}:signal=KILL:when=${n}`];
      isKilled = (await run('strace', [...kill, ...command]).ended).code !== 0;
      const left = `${await testDirectory()}/left`;
      await cp(dirname(file), left, { recursive: true });
      expect(integrityOf(`${left}/petstore.db`)).toBe('ok');
      const content = contentOf(`${left}/petstore.db`);
      expect(content).toStrictEqual(content.version === OLD ? old : migrated);
      foundVersions.add(content.version);
      expect((await petstore(next, 'migrate')).stderr).toBe('');
      expect(contentOf(file)).toStrictEqual(migrated);
    }
    expect([...foundVersions]).toStrictEqual([OLD, NEW]);
    expect((await petstore(next, 'check')).stdout).toBe('checked 5 pets and 4 API keys\n');
  },
);
