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
import { mongo } from '../../support/shared-mongo.ts';
import { runService } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { openKeys } from '../../support/sqlite.ts';

const PETS = archivedPets(5200);
const THREE_PETS = PETS.slice(0, 3);
const LAST_ID = PETS.at(-1)!.id;

it('copy --json prints its result as JSON, and writes an audit line for each key', async () => {
  const [source, target] = [await sqliteWith(THREE_PETS), await sqliteWith(THREE_PETS.slice(0, 2))];
  await insertKey(source.path, aKey(1));
  const args = ['copy', '--from', source.url, '--to', target.url];
  const command = await runCommand([...args, '--json']);
  expect(command.stdout).toBe('{"pets":3,"alreadyThere":2,"others":0,"apiKeys":1,"apiKeysAlreadyThere":0}\n');
  const usedStorages = `petstore: read from ${source.url}\npetstore: wrote to ${target.url}\n`;
  const [audit = '', ...notes] = command.stderr.split(/(?<=\}\n)/);
  expect(JSON.parse(audit)).toMatchObject({ audit: 'key.copied', keyId: aKey(1).id });
  expect(notes.join('')).toBe(usedStorages);
  const repetition = await runCommand(args);
  expect(repetition.stdout).toBe(
    'copied 3 pets; 3 of them were already there\ncopied 1 API key; 1 of them were already there\n',
  );
  const failedCopy = await runFailing([...args, '--json'], {}, { stdout: FULL_DISK });
  expect(failedCopy.stderr).toContain('"audit":"key.copied"');
});

it('copy writes no pet when the target has a different API key with the id of a key in the source', async () => {
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

describe.skipIf(mongo === undefined)(
  `copy, export and import with MongoDB${mongo === undefined ? ' (left out: no server)' : ''}`,
  () => {
    it('copy pets in both directions, byte for byte', async () => {
      const first = await sqliteWith(PETS);
      const { url: second } = await freshDatabase(mongo!);
      const third = `sqlite:${join(await testDirectory(), 'petstore.db')}`;

      const program = await runCommand(['copy', '--from', first.url, '--to', second]);
      expect([program.stdout, program.stderr]).toStrictEqual([
        'copied 5200 pets\ncopied 0 API keys\n',
        `petstore: read from ${first.url}\npetstore: wrote to ${second.split('?')[0]}\n`,
      ]);
      await runCommand(['copy', '--from', second, '--to', third]);

      const lines = petLines(PETS);
      for (const url of [second, third])
        expect((await runCommand(['export', '--from', url])).stdout).toBe(lines);
      // This comparison includes the idempotency keys, which the lines of an export do not have.
      expect(await allPetsIn(third)).toStrictEqual(PETS);
    });

    it.each(['copied', 'imported'])(
      'can continue after an interruption, while a service assigns other ids to new pets: pets are %s to MongoDB',
      async (movedHow) => {
        const { url: target } = await freshDatabase(mongo!);
        const { url, proxy } = await throughProxy(target);
        const { url: api } = await startService({ DATABASE_URL: target });
        const createPet = async () =>
          (await ask(`${api}/v1/pets`, { body: '{"name":"Tom","categoryId":7}' })).headers['location'];
        const commandWords =
          movedHow === 'copied'
            ? ['copy', '--from', (await sqliteWith(PETS)).url]
            : ['import', await fileWith(petLines(PETS))];

        // Four inserts pass: two reserve the ids, one writes the first batch of pets, and one puts the first pet in the
        // place of the document that reserved its id. The proxy holds the insert of the second batch.
        const heldInsert = holdCommandAfter(proxy, 'insert', 4);
        const command = new Command([...commandWords, '--to', url], {});
        const releaseInsert = await heldInsert;
        expect(await createPet()).toBe(`/v1/pets/${LAST_ID + 1n}`);
        command.interrupt('SIGINT');
        releaseInsert();
        expect(await command.ended).toBe(130);
        const interruptedLine = `petstore: interrupted; run the same command again to continue; ${movedHow} pets stay\n`;
        expect([command.stdout, command.stderr]).toStrictEqual(['', interruptedLine]);
        const storedCount = (await allPetsIn(target)).length - 1;
        expect(storedCount).toBeGreaterThan(0);
        expect(storedCount).toBeLessThan(PETS.length);

        const second = await runCommand([...commandWords, '--to', target]);
        expect(second.stdout).toContain(`5200 pets; ${storedCount} of them were already there\n`);
        expect(await createPet()).toBe(`/v1/pets/${LAST_ID + 2n}`);
        expect((await allPetsIn(target)).slice(0, -2)).toStrictEqual(PETS);
      },
    );

    it('end on a signal while the storage does not answer', async () => {
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
  },
);
