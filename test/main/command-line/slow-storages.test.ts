import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { aKey, at } from '../../support/api-keys.ts';
import { anArchivedPet } from '../../support/archived-pets.ts';
import { ask, connect } from '../../support/client.ts';
import { Command, FAILED } from '../../support/command.ts';
import { startService } from '../../support/service.ts';
import { SlowStorages } from '../../support/slow-storages.ts';
import { testDirectory } from '../../support/test-directory.ts';

const KEY = aKey(1);
const ENDED = aKey(2, { expiresAt: at(9), revokedAt: at(8), lastUsedAt: at(7) });
const PETS = Array.from({ length: 1200 }, (_, n) => anArchivedPet({ id: BigInt(n + 1) }));

/** Storages of which `slow:one` has pets and keys. */
async function filled(): Promise<SlowStorages> {
  const storages = new SlowStorages();
  const { archive, keys } = await storages.store('slow:one');
  await archive.write(PETS);
  for (const key of [KEY, ENDED]) await keys.insert(key);
  return storages;
}

/** Runs a command, and lists what it leaves undone when it answers and when it has ended. */
async function play(storages: SlowStorages, args: readonly string[], error?: Error) {
  let printed = '';
  const stdout = {
    write(text: string, callback?: (error?: Error) => void) {
      printed += text;
      storages.expectNoChange('answer');
      setImmediate(() => callback?.(error));
    },
  };
  const stderr = { write: () => storages.expectNoChange('answer') };
  const others = { stdout, stderr, storages: [storages.kind] };
  const { ended } = new Command(args, { DATABASE_URL: 'slow:one' }, others);
  const code = await ended;
  storages.expectNoChange('end');
  return { printed, code, faults: storages.faults };
}

it.each([
  'copy --from slow:one --to slow:two',
  'export',
  'import examples/pets.ndjson --to slow:two',
  'check',
  'skip-ids',
  'migrate',
  'backup FILE',
  'restore FILE',
  'keys create --label till',
  'keys list',
  `keys show ${KEY.id}`,
  `keys revoke ${KEY.id}`,
  `keys rotate ${KEY.id}`,
])('%s reports its result after its changes, and closes the storage after its last call', async (line) => {
  expect(await play(await filled(), line.split(' '))).toMatchObject({ code: 0, faults: [] });
});

it.each([
  ['check', 'the check is incomplete; nothing was changed'],
  ['skip-ids', 'ids may have been skipped; run the same command again'],
  ['export', 'the output is incomplete; run the command again from the beginning'],
  ['export FILE', 'no file was written; run the same command again'],
  ['restore FILE', 'run the same command again'],
])('%s reports what an interruption leaves, and how to continue', async (line, hint) => {
  const storages = await filled();
  const interrupt = async () => (command.interrupt('SIGINT'), 7n);
  (await storages.store('slow:one')).archive.lastId = interrupt;
  const kind = { ...storages.kind, restore: interrupt };
  const args = line.replace('FILE', join(await testDirectory(), 'pets')).split(' ');
  const command = new Command(args, { DATABASE_URL: 'slow:one' }, { storages: [kind] });
  expect(await command.ended).toBe(130);
  expect(command.stderr).toContain(`petstore: interrupted; ${hint}\n`);
});

it('a failed copy closes the storages after its last call', async () => {
  const storages = await filled();
  await (await storages.store('slow:two')).archive.write([anArchivedPet({ id: 1n, name: 'Tom' })]);
  const copying = play(storages, ['copy', '--from', 'slow:one', '--to', 'slow:two']);
  expect(await copying).toMatchObject({ code: FAILED, faults: [] });
});

it.each([
  ['create', '--label', 'till'],
  ['rotate', KEY.id],
])('keys %s revokes the new key and removes its file when it fails to deliver the key', async (...words) => {
  const storages = await filled();
  const file = join(await testDirectory(), 'key');
  for (const output of [[], ['--output', file]]) {
    const { code, faults } = await play(storages, ['keys', ...words, ...output], new Error('ENOSPC'));
    expect({ code, faults, isThere: existsSync(file) }).toStrictEqual({
      code: FAILED,
      faults: [],
      isThere: false,
    });
  }
  const { keys } = await storages.store('slow:one');
  const made = (await keys.list()).filter(({ id }) => id !== KEY.id && id !== ENDED.id);
  expect(made).toMatchObject([{ revokedAt: expect.any(Date) }, { revokedAt: expect.any(Date) }]);
  expect(await keys.findById(KEY.id)).toStrictEqual(KEY);
});

it('a service stops although its storage does not confirm the last use of a key', async () => {
  const storages = await filled();
  const { printed } = await play(storages, ['keys', 'create', '--label', 'till', '--json']);
  const { promise: answer, resolve } = Promise.withResolvers<void>();
  (await storages.store('slow:one')).keys.recordUse = () => answer;
  const { url, stop } = await startService({ DATABASE_URL: 'slow:one', API_KEYS: '' }, {}, [storages.kind]);
  expect(await ask(`${url}/v1/pets`, { key: JSON.parse(printed).key })).toMatchObject({ status: 200 });
  const stopped = await Promise.race([stop(), sleep(15_000, 'late', { ref: false })]);
  resolve();
  expect(stopped).toBe(0);
});

it('a service answers after its changes, and records the use of a key during its drain before it stops', async () => {
  const storages = await filled();
  const { printed } = await play(storages, ['keys', 'create', '--label', 'till', '--json']);
  const { id, key } = JSON.parse(printed) as { id: string; key: string };
  const { url, stop } = await startService({ DATABASE_URL: 'slow:one' }, {}, [storages.kind]);
  expect((await ask(`${url}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' })).status).toBe(201);
  storages.expectNoChange('answer');
  // The service has the beginning of the second request when it answers the first one.
  const client = await connect(url);
  await client.send('GET /livez HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/pets HTTP/1.1\r\n');
  await client.answer();
  const stopped = stop();
  await client.send(`Host: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  expect(await client.answer()).toMatchObject({ status: 200 });
  await stopped;
  storages.expectNoChange('end');
  expect(storages.faults).toStrictEqual([]);
  expect(await (await storages.store('slow:one')).keys.findById(id)).toMatchObject({
    lastUsedAt: expect.any(Date),
  });
});
