import { copyFile, glob, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import { ask } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { readDocument } from '../support/document.ts';
import { findOnPath } from '../support/mongod-binary.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { startMongo } from '../support/mongodb.ts';
import { noMongo, mongo } from '../support/shared-mongo.ts';
import { DONE, ROOT } from '../support/process.ts';
import { freshClone, Shell } from '../support/shell.ts';
import { freePort } from '../../proof/failure/free-port.ts';
import { bash, blockOf, installation } from './page.ts';
import { aPet } from '../support/pets.ts';
import { nextBuild } from '../upgrade/next-build.ts';

const EXAMPLE_PETS = await readDocument('examples/pets.ndjson');
const LAST_EXAMPLE_ID = Number(/"id":(\d+).*\n$/.exec(EXAMPLE_PETS)![1]);
const IMPORT_EXAMPLES = ['import', join(ROOT, 'examples/pets.ndjson')];

/** How many ids a restored storage skips, so that no new pet is assigned the id of a lost pet. */
const SKIPPED_IDS = 1e12;

/** Creates a key in a storage. */
async function createKey(DATABASE_URL: string): Promise<string> {
  return (await runCommand(['keys', 'create', '--label', 'till-3'], { DATABASE_URL })).stdout.trim();
}

/** Starts a MongoDB server that only the running test uses. Resolves with the variables that have its address. */
async function startOwnMongo() {
  const { url, stop } = await startMongo({});
  onTestFinished(stop);
  return { DATABASE_URL: url('petstore'), MONGODB_URL: url('') };
}

/** Adds a pet. Resolves with its id. */
async function addPet(url: string, key: string, name: string): Promise<number> {
  const { status, body } = await ask(`${url}/v1/pets`, {
    key,
    body: JSON.stringify({ name, categoryId: 7 }),
  });
  expect(status).toBe(201);
  return JSON.parse(body).id;
}

async function namesOf(url: string, key: string): Promise<readonly string[]> {
  const { status, body } = await ask(`${url}/v1/pets`, { key });
  expect(status).toBe(200);
  return JSON.parse(body).map(({ name }: { readonly name: string }) => name);
}

it('the commands for SQLite back up a file while a service uses it, and restore the backup on another machine', async () => {
  const directory = await installation();
  const key = await createKey(`sqlite:${directory}/data/petstore.db`);
  const url = await bash('petstore', {}, directory).url();
  await addPet(url, key, 'Rex');
  await addPet(url, key, 'Mitzi');

  await bash(blockOf('Back up', 0), {}, directory).succeeded();
  await addPet(url, key, 'Hansi');
  const [file = ''] = await Array.fromAsync(glob('backups/petstore-*.db', { cwd: directory }));
  const backup = join(directory, file);
  const checkOutput = await bash(blockOf('Back up', 3), {}, directory).succeeded();

  expect(checkOutput).toBe('checked 2 pets and 1 API key\n');
  const newMachine = await installation();
  const restored = await bash(blockOf('A file of `petstore backup`'), { backup }, newMachine).url();
  expect(await namesOf(restored, key)).toStrictEqual(['Rex', 'Mitzi']);
  expect(await addPet(restored, key, 'Lora')).toBe(2 + SKIPPED_IDS + 1);
});

it('the commands of "Manage API keys" create, rotate and revoke keys while a service runs, and print what the page shows', async () => {
  const directory = await installation();
  await createKey(`sqlite:${directory}/data/petstore.db`);
  const url = await bash('petstore', {}, directory).url();
  // The last line prints the three keys.
  const commands = [
    blockOf('Create keys'),
    blockOf('Create keys', 1),
    blockOf('Rotate keys'),
    blockOf('Rotate keys', 1),
    blockOf('Revoke a key'),
    'cat importer.key; echo "$key $new_key"',
  ];
  const printed = await bash(commands.join('\n'), {}, directory).succeeded();

  const [importer = '', key = '', newKey = ''] = printed.match(/pets_\w{66}/g) ?? [];
  const statuses = [importer, key, newKey].map(
    async (apiKey) => (await ask(`${url}/v1/pets`, { key: apiKey })).status,
  );
  // The first key may not read pets, the second key is revoked, and the third key is the successor of the second.
  expect(await Promise.all(statuses)).toStrictEqual([403, 401, 200]);
  const printedLines = printed.split('\n');
  const outputs = [
    ...['Create keys', 'Rotate keys', 'Revoke a key'].map((section) => blockOf(section, 0, 'text')),
    blockOf('Create keys', 1, 'text'),
  ];
  // Dates and ids are replaced, because they differ from those on the page.
  const normalize = (line: string) => line.replaceAll(/\b[0-9a-f]{16}\b|\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, '…');
  const shownLines = outputs.flatMap((text) => text.trimEnd().split('\n')).map(normalize);
  expect(shownLines.filter((line) => !printedLines.map(normalize).includes(line))).toStrictEqual([]);
});

it('the commands of "Export and import a file" export pets, import them and check the copy', async () => {
  const directory = await installation();
  await runCommand(IMPORT_EXAMPLES, { DATABASE_URL: `sqlite:${directory}/data/petstore.db` });
  const printed = await bash(blockOf('Export and import a file'), {}, directory).succeeded();
  expect(printed).toBe(blockOf('Export and import a file', 0, 'text'));
  expect(await readFile(join(directory, 'pets.ndjson'), 'utf8')).toBe(EXAMPLE_PETS);
});

it('the commands of "Turn metrics on" start a service, and print what the page shows', async () => {
  const port = String(await freePort());
  const [start, read] = [0, 1].map((index) => blockOf('Turn metrics on', index).replace('9464', port));
  const shell = new Shell(await freshClone());
  await shell.starts(start!);
  expect(await shell.prints(read!)).toBe(blockOf('Turn metrics on', 0, 'text'));
  shell.program.write('exit\n');
  expect(await shell.program.ended).toStrictEqual(DONE);
});

it('the commands of "Another SQLite file" skip the ids that lost pets may have had', async () => {
  const [oldDirectory, directory] = [await installation(), await installation()];
  const [source, copy] = [oldDirectory, directory].map((path) => join(path, 'data/petstore.db'));
  await runCommand(IMPORT_EXAMPLES, { DATABASE_URL: `sqlite:${source}` });
  await copyFile(source!, copy!);
  const key = await createKey(`sqlite:${copy}`);
  const url = await bash(blockOf('Another SQLite file'), {}, directory).url();
  expect(await addPet(url, key, 'Lora')).toBe(LAST_EXAMPLE_ID + SKIPPED_IDS + 1);
});

describe.skipIf(mongo === undefined)(`the commands for MongoDB${noMongo}`, () => {
  it('copy pets from SQLite to MongoDB, back them up to a SQLite file and restore them from this file', async () => {
    const directory = await installation();
    const source = `sqlite:${directory}/data/petstore.db`;
    await runCommand(IMPORT_EXAMPLES, { DATABASE_URL: source });
    const key = await createKey(source);
    const { url: MONGODB_URL } = await freshDatabase(mongo!, { migrated: false });
    const { url: target } = await freshDatabase(mongo!, { migrated: false });

    const copyOutput = await bash(
      blockOf('From SQLite to MongoDB'),
      { MONGODB_URL, DATABASE_URL: 'sqlite:./data/petstore.db' },
      directory,
    ).succeeded();
    const backupLog = await bash(blockOf('Back up', 2), { DATABASE_URL: MONGODB_URL }, directory).succeeded();
    const service = bash(blockOf('MongoDB from a SQLite file'), { DATABASE_URL: target }, directory);
    const url = await service.url();

    for (const output of [copyOutput, backupLog, service.stdout]) {
      expect(output).toContain(blockOf('From SQLite to MongoDB', 0, 'text'));
    }
    // A page of the list has 20 pets by default.
    expect(await namesOf(url, key)).toHaveLength(20);
    const movedUrl = await bash(blockOf('From SQLite to MongoDB', 1), { MONGODB_URL }, directory).url();
    expect(await namesOf(movedUrl, key)).toHaveLength(20);
    expect(await addPet(url, key, 'Lora')).toBe(LAST_EXAMPLE_ID + SKIPPED_IDS + 1);
  });

  it('dump a replica set and restore it', async ({ skip }) => {
    if ((await findOnPath('mongodump')) === undefined || (await findOnPath('mongorestore')) === undefined) {
      skip('no mongodump and mongorestore on PATH: install mongodb-database-tools');
    }
    const directory = await installation();
    const source = await startOwnMongo();
    const target = await startOwnMongo();
    await runCommand(['migrate'], source);
    await runCommand(IMPORT_EXAMPLES, source);

    await bash(blockOf('Back up', 1), source, directory).succeeded();
    await bash(blockOf('A dump of MongoDB'), target, directory).succeeded();

    expect((await runCommand(['export'], target)).stdout).toBe(EXAMPLE_PETS);
    const { pets, close } = await openMongoStorage(target.DATABASE_URL, { autoMigrate: false });
    onTestFinished(close);
    const { id } = await pets.insert(aPet({ name: 'Lora' }));
    expect(Number(id)).toBe(LAST_EXAMPLE_ID + SKIPPED_IDS + 1);
  });

  it('upgrade a database to a build with a new migration step', async () => {
    const { url: MONGODB_URL, db } = await freshDatabase(mongo!);
    const directory = await installation();
    await installBuild(await nextBuild(), directory);

    const printed = await bash(blockOf('Upgrade MongoDB'), { MONGODB_URL }, directory).succeeded();

    const database = `the database "${db.databaseName}"`;
    expect(printed).toBe(`${database} has schema version 4 (as before), step 1 (before: 0)\n`);
  });
});

/** Lets the command `petstore` in `directory` run the build in `root`. */
async function installBuild(root: string, directory: string): Promise<void> {
  await rm(join(directory, 'commands/petstore'));
  await symlink(join(root, 'bin/petstore'), join(directory, 'commands/petstore'));
}

it('the commands for SQLite upgrade a file of release 1.0.0, and then restore the file as it was before', async () => {
  const directory = await installation();
  const fixture = join(ROOT, 'test/upgrade/fixtures/1.0.0/sqlite');
  const { key } = JSON.parse(await readFile(`${fixture}.json`, 'utf8'));
  await copyFile(`${fixture}.db`, join(directory, 'data/petstore.db'));

  await bash(blockOf('Upgrade SQLite', 0), {}, directory).succeeded();
  await installBuild(await nextBuild(), directory);
  const upgraded = bash(blockOf('Upgrade SQLite', 1), {}, directory);
  const url = await upgraded.url();
  expect(upgraded.stdout).toMatch(/ has schema version 5 \(before: 4\)\nchecked 5 pets and 4 API keys\n/);
  await addPet(url, key, 'Lora');
  expect(await namesOf(url, key)).toHaveLength(6);
  await upgraded.kill();

  await installBuild(ROOT, directory);
  const restored = await bash(blockOf('Go back to the earlier release'), {}, directory).url();
  expect(await namesOf(restored, key)).toHaveLength(5);
});

it('the commands of "When a record is damaged" find the record and repair it', async () => {
  const directory = await installation();
  const file = join(directory, 'data/petstore.db');
  await runCommand(IMPORT_EXAMPLES, { DATABASE_URL: `sqlite:${file}` });
  using db = new DatabaseSync(file);
  // The name then does not match the checksum of the record.
  db.exec("UPDATE pets SET name = 'Max' WHERE id = 7");
  const section = 'When a record is damaged';

  const check = bash(blockOf(section), {}, directory);
  expect((await check.ended).code).toBe(1);
  expect(check.stdout).toContain(blockOf(section, 0, 'text'));
  db.exec(blockOf(section, 0, 'sql'));
  expect(await bash(blockOf(section), {}, directory).succeeded()).toBe('checked 300 pets and 0 API keys\n');
});

/**
 * Scripts that stand for `docker` and `systemd-run`. They run the `petstore` command here instead of in a container or
 * in a unit, because this test has no image and no systemd.
 */
const STAND_INS = {
  docker: `#!/bin/sh
case "$1" in
  exec) shift 2; exec "$@" ;;
  run) while [ "$1" != petstore ]; do shift; done; exec "$@" ;;
  *) exit 1 ;;
esac
`,
  'systemd-run': `#!/bin/sh
while [ "$1" != /usr/local/bin/petstore ]; do
  [ "$1" = --setenv ] && export "$2"
  shift
done
shift
exec petstore "$@"
`,
};

it.each([
  ['Keys in containers', 'docker', 'data/first-key', ['first', 'till-3']],
  ['systemd', 'systemd-run', 'first-key', ['first']],
] as const)(
  'the commands of "%s" write the first key to a file, and not to standard error',
  async (section, name, file, labels) => {
    const directory = await installation();
    await writeFile(join(directory, 'commands', name), STAND_INS[name], { mode: 0o755 });

    const program = bash(blockOf(section), {}, directory);
    await program.succeeded();

    const key = (await readFile(join(directory, file), 'utf8')).trim();
    expect(key).toMatch(/^pets_[0-9a-f]{16}_\w{49}$/);
    expect(program.stderr).not.toContain(key);
    const database = section === 'systemd' ? 'petstore.db' : 'data/petstore.db';
    const list = await runCommand(['keys', 'list', '--json'], {
      DATABASE_URL: `sqlite:${directory}/${database}`,
    });
    expect(JSON.parse(list.stdout).map(({ label }: { label: string }) => label)).toStrictEqual(labels);
  },
);
