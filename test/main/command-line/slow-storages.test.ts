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

const VALID_KEY = aKey(1);
const REVOKED_KEY = aKey(2, { expiresAt: at(9), revokedAt: at(8), lastUsedAt: at(7) });
const PETS = Array.from({ length: 1200 }, (_, n) => anArchivedPet({ id: BigInt(n + 1) }));

/** Makes storages in memory that answer slowly. The storage `slow:one` has pets and keys. All others are empty. */
async function makeStorages(): Promise<SlowStorages> {
  const storages = new SlowStorages();
  const { archive, keys } = await storages.store('slow:one');
  await archive.write(PETS);
  for (const key of [VALID_KEY, REVOKED_KEY]) await keys.insert(key);
  return storages;
}

/**
 * Runs a command to its end. Each write to standard output fails with `outputError` if it is set. `faults` lists the
 * changes that were not complete when the command answered or ended, and the storages that it left open.
 */
async function runSlowly(storages: SlowStorages, args: readonly string[], outputError?: Error) {
  let printed = '';
  const stdout = {
    write(text: string, callback?: (error?: Error) => void) {
      printed += text;
      storages.expectNoChange('answer');
      setImmediate(() => callback?.(outputError));
    },
  };
  const stderr = { write: () => storages.expectNoChange('answer') };
  const replacedIo = { stdout, stderr, storages: [storages.kind] };
  const { ended } = new Command(args, { DATABASE_URL: 'slow:one' }, replacedIo);
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
  `keys show ${VALID_KEY.id}`,
  `keys revoke ${VALID_KEY.id}`,
  `keys rotate ${VALID_KEY.id}`,
])('%s reports its result after its changes are stored, and closes its storages', async (command) => {
  expect(await runSlowly(await makeStorages(), command.split(' '))).toMatchObject({ code: 0, faults: [] });
});

it.each([
  ['check', 'the check is incomplete; nothing was changed'],
  ['skip-ids', 'ids may have been skipped; run the same command again'],
  ['export', 'the output is incomplete; run the command again from the beginning'],
  ['export FILE', 'no file was written; run the same command again'],
  ['restore FILE', 'run the same command again'],
])('%s prints this advice when it is interrupted: %s', async (commandLine, advice) => {
  const storages = await makeStorages();
  // A storage method that is replaced by this function interrupts the command that calls it.
  const interrupt = async () => (command.interrupt('SIGINT'), 7n);
  (await storages.store('slow:one')).archive.lastId = interrupt;
  const kind = { ...storages.kind, restore: interrupt };
  const args = commandLine.replace('FILE', join(await testDirectory(), 'pets')).split(' ');
  const command = new Command(args, { DATABASE_URL: 'slow:one' }, { storages: [kind] });
  expect(await command.ended).toBe(130);
  expect(command.stderr).toContain(`petstore: interrupted; ${advice}\n`);
});

it('a copy that fails closes both storages, and calls neither of them after that', async () => {
  const storages = await makeStorages();
  // The copy fails because the target has another pet with the id 1.
  await (await storages.store('slow:two')).archive.write([anArchivedPet({ id: 1n, name: 'Tom' })]);
  const copying = runSlowly(storages, ['copy', '--from', 'slow:one', '--to', 'slow:two']);
  expect(await copying).toMatchObject({ code: FAILED, faults: [] });
});

it.each([
  ['create', '--label', 'till'],
  ['rotate', VALID_KEY.id],
])('keys %s revokes the new key and removes its file when standard output is full', async (...words) => {
  const storages = await makeStorages();
  const file = join(await testDirectory(), 'key');
  for (const output of [[], ['--output', file]]) {
    const { code, faults } = await runSlowly(storages, ['keys', ...words, ...output], new Error('ENOSPC'));
    expect([code, faults, existsSync(file)]).toStrictEqual([FAILED, [], false]);
  }
  const { keys } = await storages.store('slow:one');
  const newKeys = (await keys.list()).filter(({ id }) => id !== VALID_KEY.id && id !== REVOKED_KEY.id);
  expect(newKeys).toMatchObject([{ revokedAt: expect.any(Date) }, { revokedAt: expect.any(Date) }]);
  expect(await keys.findById(VALID_KEY.id)).toStrictEqual(VALID_KEY);
});

it('a service stops although its storage does not confirm the last use of a key', async () => {
  const storages = await makeStorages();
  const { printed } = await runSlowly(storages, ['keys', 'create', '--label', 'till', '--json']);
  const { promise: confirmation, resolve: confirm } = Promise.withResolvers<void>();
  (await storages.store('slow:one')).keys.recordUse = () => confirmation;
  const { url, stop } = await startService({ DATABASE_URL: 'slow:one', API_KEYS: '' }, {}, [storages.kind]);
  expect(await ask(`${url}/v1/pets`, { key: JSON.parse(printed).key })).toMatchObject({ status: 200 });
  // The service must stop within 15 s, although the storage has not confirmed the use.
  const outcome = await Promise.race([stop(), sleep(15_000, 'late', { ref: false })]);
  confirm();
  expect(outcome).toBe(0);
});

it('a service stores a pet before it answers, and records the use of a key even when it is stopping', async () => {
  const storages = await makeStorages();
  const { printed } = await runSlowly(storages, ['keys', 'create', '--label', 'till', '--json']);
  const { id, key } = JSON.parse(printed) as { id: string; key: string };
  const { url, stop } = await startService({ DATABASE_URL: 'slow:one' }, {}, [storages.kind]);
  expect((await ask(`${url}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' })).status).toBe(201);
  storages.expectNoChange('answer');
  // The answer to the first request shows that the service has received the beginning of the second request. The
  // service must therefore answer the second request before it stops.
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
