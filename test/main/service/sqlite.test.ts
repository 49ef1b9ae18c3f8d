import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runService } from '../../support/process.ts';
import { ask, KEY } from '../../support/client.ts';

const PET = '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}';
const STORED = `{"id":1,${PET.slice(1)}`;

async function freshDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-sqlite-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

describe('a service with its pets in a SQLite file', () => {
  it('makes the file and its directory', async () => {
    const DATABASE_URL = `sqlite:${await freshDirectory()}/data/pets.db`;
    const url = await runService({ API_KEYS: KEY, DATABASE_URL }).url();
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200 });
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, body: '[]' });
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('has the pets again after %s and a restart', async (signal) => {
    const DATABASE_URL = `sqlite:${await freshDirectory()}/pets.db`;
    const headers = { 'idempotency-key': 'a' };
    const first = runService({ API_KEYS: KEY, DATABASE_URL });
    const url = `${await first.url()}/v1/pets`;
    expect(await ask(url, { body: PET, headers })).toMatchObject({ status: 201, body: STORED });
    first.signal(signal);
    await first.ended;

    const second = runService({ API_KEYS: KEY, DATABASE_URL });
    const again = `${await second.url()}/v1/pets`;
    expect(await ask(again)).toMatchObject({ status: 200, body: `[${STORED}]` });
    expect(await ask(again, { body: PET, headers })).toMatchObject({
      body: STORED,
      headers: { 'idempotent-replayed': 'true' },
    });
    expect(await ask(again, { body: PET })).toMatchObject({ headers: { location: '/v1/pets/2' } });
  });

  it('does not start on a file that another service has, and says so', async () => {
    const DATABASE_URL = `sqlite:${await freshDirectory()}/pets.db`;
    const first = runService({ API_KEYS: KEY, DATABASE_URL });
    await first.url();
    const second = runService({ API_KEYS: KEY, DATABASE_URL });
    expect(await second.ended).toStrictEqual({ code: 1, signal: null });
    expect(second.stderr).toMatch(
      /^petstore: the SQLite file \S+ is in use by another petstore service; stop that service first\n$/,
    );
    expect(second.stdout).toBe('');
  });

  it.for(['/proc/nothing/pets.db', '/proc/self/fd/99/pets.db', '/proc/nothing/deep/er/pets.db'])(
    'does not start where no directory can be made: %s',
    async (file, { skip }) => {
      if (process.platform !== 'linux') skip('/proc is of Linux');
      const service = runService({ API_KEYS: KEY, DATABASE_URL: `sqlite:${file}` });
      expect(await service.ended).toStrictEqual({ code: 1, signal: null });
      expect(service.stderr).toMatch(
        /^petstore: the SQLite file \S+ cannot be opened: ENOENT: no such file or directory, mkdir '\S+'\n$/,
      );
    },
  );

  it('warns in its log when the file is taken away, answers 503, and goes on when it is back', async () => {
    const file = join(await freshDirectory(), 'pets.db');
    const service = runService({ API_KEYS: KEY, DATABASE_URL: `sqlite:${file}` });
    const url = await service.url();
    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201 });
    await rename(file, `${file}-moved`);

    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 503 });
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200 });
    expect(await service.logged(/writes are refused until this is fixed: [^"]+/)).toMatchObject({
      level: 40,
    });
    await rename(`${file}-moved`, file);

    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201 });
    await service.logged(/[^"]+ are back in place: writes resume/);
  });

  it('does not start on a file that is no SQLite database', async () => {
    const file = join(await freshDirectory(), 'notes.txt');
    await writeFile(file, 'These are notes, and no pets at all. '.repeat(100));
    const service = runService({ API_KEYS: KEY, DATABASE_URL: `sqlite:${file}` });
    expect(await service.ended).toStrictEqual({ code: 1, signal: null });
    expect(service.stderr).toBe(
      `petstore: the SQLite file ${file} is not a SQLite database; choose another path\n`,
    );
  });
});
