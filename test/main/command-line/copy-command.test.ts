import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { aKey } from '../../support/api-keys.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { everythingIn, fileWith, sqliteWith, stopAt } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { ask } from '../../support/client.ts';
import { Command, fails, FULL, refused, succeeds } from '../../support/command.ts';
import { freshDatabase, throughProxy } from '../../support/mongo-database.ts';
import { mongo } from '../../support/shared-mongo.ts';
import { runService } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { openKeys } from '../../support/sqlite.ts';

const PETS = archivedPets(5200);
const FEW = PETS.slice(0, 3);
const LAST = PETS.at(-1)!.id;

it('copy --json prints its result as JSON, and writes an audit line for each key', async () => {
  const [source, target] = [await sqliteWith(FEW), await sqliteWith(FEW.slice(0, 2))];
  await insertKey(source.path, aKey(1));
  const args = ['copy', '--from', source.url, '--to', target.url];
  const command = await succeeds([...args, '--json']);
  expect(command.stdout).toBe('{"pets":3,"alreadyThere":2,"others":0,"apiKeys":1,"apiKeysAlreadyThere":0}\n');
  const used = `petstore: read from ${source.url}\npetstore: wrote to ${target.url}\n`;
  const [audit = '', ...notes] = command.stderr.split(/(?<=\}\n)/);
  expect(JSON.parse(audit)).toMatchObject({ audit: 'key.copied', keyId: aKey(1).id });
  expect(notes.join('')).toBe(used);
  const again = await succeeds(args);
  expect(again.stdout).toBe(
    'copied 3 pets; 3 of them were already there\ncopied 1 API key; 1 of them were already there\n',
  );
  const unreported = await fails([...args, '--json'], {}, { stdout: FULL });
  expect(unreported.stderr).toContain('"audit":"key.copied"');
});

it('copy copies no pet when the target has another API key with an id of the source', async () => {
  const [source, target] = [await sqliteWith(FEW), await sqliteWith([])];
  const key = aKey(1);
  await insertKey(source.path, key);
  await insertKey(target.path, { ...aKey(2), id: key.id });

  await refused(
    ['copy', '--from', source.url, '--to', target.url],
    `another key already has the id ${key.id}; it was not overwritten`,
  );

  expect(await everythingIn(target.url)).toStrictEqual([]);
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

      const program = await succeeds(['copy', '--from', first.url, '--to', second]);
      expect([program.stdout, program.stderr]).toStrictEqual([
        'copied 5200 pets\ncopied 0 API keys\n',
        `petstore: read from ${first.url}\npetstore: wrote to ${second.split('?')[0]}\n`,
      ]);
      await succeeds(['copy', '--from', second, '--to', third]);

      const lines = petLines(PETS);
      for (const url of [second, third])
        expect((await succeeds(['export', '--from', url])).stdout).toBe(lines);
      // The lines of an export have no idempotency keys.
      expect(await everythingIn(third)).toStrictEqual(PETS);
    });

    it.each(['copied', 'imported'])(
      'can continue after an interruption, beside a service that never assigns the same ids: %s to MongoDB',
      async (done) => {
        const { url: target } = await freshDatabase(mongo!);
        const { url, proxy } = await throughProxy(target);
        const { url: api } = await startService({ DATABASE_URL: target });
        const add = async () =>
          (await ask(`${api}/v1/pets`, { body: '{"name":"Tom","categoryId":7}' })).headers['location'];
        const what =
          done === 'copied'
            ? ['copy', '--from', (await sqliteWith(PETS)).url]
            : ['import', await fileWith(petLines(PETS))];

        // Two reserve the ids, and the first pet takes the place of a reservation after the first batch.
        const held = stopAt(proxy, 'insert', 4);
        const command = new Command([...what, '--to', url], {});
        const release = await held;
        expect(await add()).toBe(`/v1/pets/${LAST + 1n}`);
        command.interrupt('SIGINT');
        release();
        expect(await command.ended).toBe(130);
        const stays = `petstore: interrupted; run the same command again to continue; what is ${done} stays\n`;
        expect([command.stdout, command.stderr]).toStrictEqual(['', stays]);
        const before = (await everythingIn(target)).length - 1;
        expect(before).toBeGreaterThan(0);
        expect(before).toBeLessThan(PETS.length);

        const second = await succeeds([...what, '--to', target]);
        expect(second.stdout).toContain(`5200 pets; ${before} of them were already there\n`);
        expect(await add()).toBe(`/v1/pets/${LAST + 2n}`);
        expect((await everythingIn(target)).slice(0, -2)).toStrictEqual(PETS);
      },
    );

    it('end on a signal while the storage does not answer', async () => {
      const { url } = await freshDatabase(mongo!);
      const { url: target, proxy } = await throughProxy(url);
      const program = runService({}, ['import', 'examples/pets.ndjson', '--to', target]);
      await stopAt(proxy, 'insert', 0);
      program.signal('SIGTERM');
      expect(await program.ended).toStrictEqual({ code: 143, signal: null });
      expect([program.stdout, program.stderr]).toStrictEqual([
        '',
        'petstore: interrupted; run the same command again to continue; what is imported stays\n',
      ]);
    }, 30_000);
  },
);
