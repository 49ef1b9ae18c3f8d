import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { aKey } from '../../support/api-keys.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { allPetsIn, fileWith, sqliteWith, holdCommandAfter } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { ask } from '../../support/client.ts';
import { Command, runFailing, FULL_DISK, expectRefusal, runCommand } from '../../support/command.ts';
import { freshDatabase, throughProxy } from '../../support/mongo-database.ts';
import { mongo, noMongo } from '../../support/shared-mongo.ts';
import { runService } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { openKeys } from '../../support/sqlite.ts';

/** A command reads and writes these pets in several batches. */
const PETS = archivedPets(5200);
const THREE_PETS = PETS.slice(0, 3);
const LAST_ID = PETS.at(-1)!.id;

it('copy prints its result as JSON or as text, and writes an audit line for each API key', async () => {
  const [source, target] = [await sqliteWith(THREE_PETS), await sqliteWith(THREE_PETS.slice(0, 2))];
  await insertKey(source.path, aKey(1));
  const args = ['copy', '--from', source.url, '--to', target.url];
  const command = await runCommand([...args, '--json']);
  expect(command.stdout).toBe('{"pets":3,"alreadyThere":2,"others":0,"apiKeys":1,"apiKeysAlreadyThere":0}\n');
  const [auditLine = '', ...otherLines] = command.stderr.split(/(?<=\}\n)/);
  expect(JSON.parse(auditLine)).toMatchObject({ audit: 'key.copied', keyId: aKey(1).id });
  expect(otherLines.join('')).toBe(`petstore: read from ${source.url}\npetstore: wrote to ${target.url}\n`);
  const repetition = await runCommand(args);
  expect(repetition.stdout).toBe(
    'copied 3 pets; 3 of them were already there\ncopied 1 API key; 1 of them were already there\n',
  );
  // The command writes the audit line even when it cannot print its result.
  const failedCopy = await runFailing([...args, '--json'], {}, { stdout: FULL_DISK });
  expect(failedCopy.stderr).toContain('"audit":"key.copied"');
});

it('copy writes no pet when the source and the target have different API keys with the same id', async () => {
  const [source, target] = [await sqliteWith(THREE_PETS), await sqliteWith([])];
  const key = aKey(1);
  await insertKey(source.path, key);
  await insertKey(target.path, { ...aKey(2), id: key.id });

  await expectRefusal(
    ['copy', '--from', source.url, '--to', target.url],
    `another key already has the id ${key.id}; it was not overwritten`,
  );

  expect(await allPetsIn(target.url)).toStrictEqual([]);
});

async function insertKey(path: string, key: ReturnType<typeof aKey>): Promise<void> {
  const { keys, close } = await openKeys(path);
  await keys.insert(key);
  await close();
}

describe.skipIf(mongo === undefined)(`with MongoDB${noMongo}`, () => {
  it('copy transfers every pet unchanged from SQLite to MongoDB and back', async () => {
    const source = await sqliteWith(PETS);
    const { url: mongoUrl } = await freshDatabase(mongo!);
    const sqliteUrl = `sqlite:${join(await testDirectory(), 'petstore.db')}`;

    const command = await runCommand(['copy', '--from', source.url, '--to', mongoUrl]);
    expect([command.stdout, command.stderr]).toStrictEqual([
      'copied 5200 pets\ncopied 0 API keys\n',
      `petstore: read from ${source.url}\npetstore: wrote to ${mongoUrl.split('?')[0]}\n`,
    ]);
    await runCommand(['copy', '--from', mongoUrl, '--to', sqliteUrl]);

    const lines = petLines(PETS);
    for (const url of [mongoUrl, sqliteUrl])
      expect((await runCommand(['export', '--from', url])).stdout).toBe(lines);
    // This comparison includes the idempotency keys, which the lines of an export do not have.
    expect(await allPetsIn(sqliteUrl)).toStrictEqual(PETS);
  });

  it.each(['copied', 'imported'])(
    'all pets are %s when the interrupted command is repeated, although a service creates pets meanwhile',
    async (verb) => {
      const { url: target } = await freshDatabase(mongo!);
      const { url, proxy } = await throughProxy(target);
      const { url: api } = await startService({ DATABASE_URL: target });
      /** Creates a pet through the service. Resolves with the path of the pet in the API. */
      const createPet = async () =>
        (await ask(`${api}/v1/pets`, { body: '{"name":"Tom","categoryId":7}' })).headers['location'];
      const commandWords =
        verb === 'copied'
          ? ['copy', '--from', (await sqliteWith(PETS)).url]
          : ['import', await fileWith(petLines(PETS))];

      // The proxy forwards four inserts: two inserts reserve the ids of the pets, the third writes the first batch of
      // pets, and the fourth puts the first pet in the place of the document that has reserved its id. The proxy
      // holds the fifth insert, which writes the second batch.
      const heldInsert = holdCommandAfter(proxy, 'insert', 4);
      const command = new Command([...commandWords, '--to', url], {});
      const releaseInsert = await heldInsert;
      expect(await createPet()).toBe(`/v1/pets/${LAST_ID + 1n}`);
      command.interrupt('SIGINT');
      releaseInsert();
      expect(await command.ended).toBe(130);
      const message = `petstore: interrupted; run the same command again to continue; ${verb} pets stay\n`;
      expect([command.stdout, command.stderr]).toStrictEqual(['', message]);
      // One stored pet is the pet that the service has created.
      const movedCount = (await allPetsIn(target)).length - 1;
      expect(movedCount).toBeGreaterThan(0);
      expect(movedCount).toBeLessThan(PETS.length);

      const repetition = await runCommand([...commandWords, '--to', target]);
      expect(repetition.stdout).toContain(`5200 pets; ${movedCount} of them were already there\n`);
      expect(await createPet()).toBe(`/v1/pets/${LAST_ID + 2n}`);
      expect((await allPetsIn(target)).slice(0, -2)).toStrictEqual(PETS);
    },
  );

  it('import ends on SIGTERM while MongoDB does not answer', async () => {
    const { url } = await freshDatabase(mongo!);
    const { url: target, proxy } = await throughProxy(url);
    const program = runService({}, ['import', 'examples/pets.ndjson', '--to', target]);
    await holdCommandAfter(proxy, 'insert', 0);
    program.signal('SIGTERM');
    expect(await program.ended).toStrictEqual({ code: 143, signal: null });
    expect([program.stdout, program.stderr]).toStrictEqual([
      '',
      'petstore: interrupted; run the same command again to continue; imported pets stay\n',
    ]);
  }, 30_000);
});
