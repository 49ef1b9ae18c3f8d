import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { run, SERVICE, SERVICE_ENV } from '../../support/process.ts';
import { STRACE_MISSING, traced } from '../../support/strace.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PET = '{"name":"Rex","categoryId":7}';

/** A create that may be repeated. */
const once = { body: PET, headers: { 'idempotency-key': 'a-key-for-one-create' } };

/** SQLite itself uses `fsync`, so an injection into `fdatasync` reaches the flushes of the log only. */
async function started(inject: string) {
  const DATABASE_URL = `sqlite:${join(await testDirectory(), 'petstore.db')}`;
  const env = { DATABASE_URL, API_KEYS: KEY };
  const { program } = await traced([], { env: { ...env, UV_THREADPOOL_SIZE: '4' }, inject });
  const restarted = async () => run(process.execPath, [...SERVICE], { ...SERVICE_ENV, ...env }).url();
  return { program, restarted, url: await program.url() };
}

beforeEach(({ skip }) => skip(STRACE_MISSING !== undefined, STRACE_MISSING));

it('a service whose disk fails to flush answers 503, says so, makes a checkpoint and goes on by itself', async () => {
  // Each thread of the pool has its own count.
  const { program, url } = await started('fdatasync:error=EIO:when=1');
  const create = async () => ask(`${url}/v1/pets`, once);

  expect(await create()).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  await program.logged('a checkpoint has succeeded: writes resume');
  const { err } = await program.logged('requests fail because of the storage');
  // Without a stack.
  expect(err).toStrictEqual({ type: 'StorageUnavailable', message: expect.stringContaining('EIO') });

  const lines = program.log.map(({ msg }) => String(msg)).filter((line) => line.includes('checkpoint'));
  expect(lines).toStrictEqual([
    'a flush has failed: writes are refused until a checkpoint succeeds: Error: EIO: i/o error, fdatasync',
    'a checkpoint has succeeded: writes resume',
  ]);
  expect(await ask(`${url}/v1/pets/1`)).toMatchObject({ status: 200 });
});

it('a service whose disk does not come back from a flush goes on reading, and a kill -9 then loses nothing that was shown', async () => {
  const { program, restarted, url } = await started('fdatasync:delay_enter=600000000');
  const answers: number[] = [];
  const creating = ask(`${url}/v1/pets`, once).then(({ status }) => answers.push(status));
  creating.catch(() => {});

  expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
  expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, body: '[]' });
  expect(await ask(`${url}/livez`)).toMatchObject({ status: 200 });
  expect(answers).toStrictEqual([]);
  await program.kill();
  await expect(creating).rejects.toThrow('fetch failed');

  // It was committed, and nobody has seen it.
  const next = await restarted();
  expect(await ask(`${next}/v1/pets`, once)).toMatchObject({
    status: 201,
    body: expect.stringContaining('"id":1'),
  });
  expect(await ask(`${next}/v1/pets`, { body: PET })).toMatchObject({
    body: expect.stringContaining('"id":2'),
  });
});
