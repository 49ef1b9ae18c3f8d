import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { run, SERVICE, SERVICE_ENV } from '../../support/process.ts';
import { STRACE_MISSING, runTraced } from '../../support/strace.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PET = '{"name":"Rex","categoryId":7}';

/** A create that may be repeated, because it has an idempotency key. */
const repeatableCreate = { body: PET, headers: { 'idempotency-key': 'a-key-for-one-create' } };

/**
 * Starts a service with a fault that strace injects. A fault in `fdatasync` affects only the flushes of the write-ahead
 * log by the service, because SQLite itself uses `fsync`.
 */
async function startWithFault(inject: string, furtherEnv: Record<string, string> = {}) {
  const DATABASE_URL = `sqlite:${join(await testDirectory(), 'petstore.db')}`;
  const env = { DATABASE_URL, API_KEYS: KEY };
  const programEnv = { ...env, UV_THREADPOOL_SIZE: '4', ...furtherEnv };
  const { program } = await runTraced([], { env: programEnv, inject });
  const restart = async () => run(process.execPath, [...SERVICE], { ...SERVICE_ENV, ...env }).url();
  return { program, restart, url: await program.url() };
}

beforeEach(({ skip }) => skip(STRACE_MISSING !== undefined, STRACE_MISSING));

it('a service whose disk fails to flush exits with code 74, logs one line, sends no further answer, and can start again', async () => {
  // strace counts the calls of each thread separately, so the pool has only one thread.
  const { program, restart, url } = await startWithFault('fdatasync:error=EIO:when=2', {
    UV_THREADPOOL_SIZE: '1',
  });
  expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201 });

  await expect(ask(`${url}/v1/pets`, repeatableCreate)).rejects.toThrow('fetch failed');
  expect(await program.ended).toStrictEqual({ code: 74, signal: null });
  expect(program.log.at(-1)).toStrictEqual({
    level: 60,
    time: expect.any(Number),
    msg: expect.stringMatching(
      /^a flush of \/.*-wal has failed: EIO: i\/o error, fdatasync; this process ends without closing the file; start petstore again before any other program opens it$/,
    ),
  });

  const nextUrl = await restart();
  expect(await ask(`${nextUrl}/v1/pets/1`)).toMatchObject({ status: 200 });
  // The pet was committed, and the page cache of the system still has it.
  expect(await ask(`${nextUrl}/v1/pets`, repeatableCreate)).toMatchObject({
    status: 201,
    headers: { 'idempotent-replayed': 'true' },
    body: expect.stringContaining('"id":2'),
  });
});

it.each([
  ['a service', ['serve']],
  ['a command', ['keys', 'create', '--label', 'a']],
])('%s whose disk fails at the start exits with code 74 and keeps the write-ahead log', async (_, args) => {
  const directory = await testDirectory();
  const env = { DATABASE_URL: `sqlite:${join(directory, 'petstore.db')}`, API_KEYS: KEY };
  const firstService = run(process.execPath, [...SERVICE], { ...SERVICE_ENV, ...env });
  await firstService.url();
  await firstService.kill();
  const logBytes = await readFile(join(directory, 'petstore.db-wal'));
  const { program } = await runTraced(args, { env, inject: 'fsync:error=ENOSPC:when=1+' });

  expect(await program.ended).toStrictEqual({ code: 74, signal: null });

  expect(`${program.stdout}${program.stderr}`).toMatch(
    /no space left on device, fsync; this process ends without/,
  );
  expect((await readFile(join(directory, 'petstore.db-wal'))).equals(logBytes)).toBe(true);
});

it('a service whose disk never completes a flush continues to read pets, and a kill -9 loses no pet that a client has seen', async () => {
  const { program, restart, url } = await startWithFault('fdatasync:delay_enter=600000000');
  const answers: number[] = [];
  const creating = ask(`${url}/v1/pets`, repeatableCreate).then(({ status }) => answers.push(status));
  creating.catch(() => {});

  expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
  expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, body: '[]' });
  expect(await ask(`${url}/livez`)).toMatchObject({ status: 200 });
  expect(answers).toStrictEqual([]);
  await program.kill();
  await expect(creating).rejects.toThrow('fetch failed');

  // The pet was committed, and no client has seen it.
  const nextUrl = await restart();
  expect(await ask(`${nextUrl}/v1/pets`, repeatableCreate)).toMatchObject({
    status: 201,
    body: expect.stringContaining('"id":1'),
  });
  expect(await ask(`${nextUrl}/v1/pets`, { body: PET })).toMatchObject({
    body: expect.stringContaining('"id":2'),
  });
});
