import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { ask, KEY } from '../../support/client.ts';
import { runService } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { silentLog } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PET = '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}';
const STORED = `{"id":1,${PET.slice(1)}`;
const IDEMPOTENT = { body: PET, headers: { 'idempotency-key': 'a' } };

async function freshUrl(): Promise<string> {
  return `sqlite:${await testDirectory()}/pets.db`;
}

/** A second service, on a file with a pet from the first. */
async function expectPetKept(DATABASE_URL: string): Promise<void> {
  const { url } = await startService({ DATABASE_URL });
  const pets = `${url}/v1/pets`;
  expect(await ask(pets)).toMatchObject({ status: 200, body: `[${STORED}]` });
  expect(await ask(pets, IDEMPOTENT)).toMatchObject({
    body: STORED,
    headers: { 'idempotent-replayed': 'true' },
  });
  expect(await ask(pets, { body: PET })).toMatchObject({ headers: { location: '/v1/pets/2' } });
}

describe('a service with its pets in a SQLite file', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('has the pets again after %s and a restart', async (signal) => {
    const DATABASE_URL = await freshUrl();
    const first = runService({ API_KEYS: KEY, DATABASE_URL });
    expect(await ask(`${await first.url()}/v1/pets`, IDEMPOTENT)).toMatchObject({
      status: 201,
      body: STORED,
    });
    first.signal(signal);
    await first.ended;
    await expectPetKept(DATABASE_URL);
  });

  it('does not start on a file that another service uses, and says so', async () => {
    const DATABASE_URL = await freshUrl();
    await startService({ DATABASE_URL });
    const second = runService({ API_KEYS: KEY, DATABASE_URL });
    expect(await second.ended).toStrictEqual({ code: 1, signal: null });
    expect(second.stderr).toMatch(
      /^petstore: the SQLite file \S+ is in use by another petstore service; stop that service first\n$/,
    );
    expect(second.stdout).toBe('');
  });

  it.for(['/proc/nothing/pets.db', '/proc/self/nowhere/pets.db', '/proc/nothing/deep/er/pets.db'])(
    'does not start where no directory can be created: %s',
    async (file, { skip }) => {
      if (process.platform !== 'linux') skip('only Linux has /proc');
      // A URL with a missing directory is refused earlier, unless it is the default.
      const starting = openSqliteStorage(file, silentLog);
      await expect(starting).rejects.toThrow(StorageSetupError);
      await expect(starting).rejects.toThrow(
        /^the SQLite file \S+ cannot be opened: ENOENT: no such file or directory, mkdir '\S+'$/,
      );
    },
  );

  it('logs a warning and answers 503 when the file is moved away, and recovers when it is back', async () => {
    const file = join(await testDirectory(), 'pets.db');
    const { url, logged } = await startService({ DATABASE_URL: `sqlite:${file}` });
    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201 });
    await rename(file, `${file}-moved`);

    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 503 });
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200 });
    expect(await logged(/writes are refused until this is fixed: /)).toMatchObject({ level: 40 });
    await rename(`${file}-moved`, file);

    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201 });
    await logged(/ are back in place: writes resume/);
  });

  it('does not start on a file that is not a SQLite database', async () => {
    const file = join(await testDirectory(), 'notes.txt');
    await writeFile(file, 'These are notes, and no pets at all. '.repeat(100));
    await expect(startService({ DATABASE_URL: `sqlite:${file}` })).rejects.toThrow(
      new StorageSetupError(`the SQLite file ${file} is not a SQLite database; choose another path`),
    );
  });
});
