import { rename } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteKeys } from '../../../src/adapters/sqlite/open.ts';
import { mintKey } from '../../../src/adapters/tokens/token.ts';
import { CreateKey } from '../../../src/application/keys/create-key.ts';
import { SCOPES } from '../../../src/domain/api-key.ts';
import { ask, silentServer } from '../../support/client.ts';
import { HAS_IPV6, NO_IPV6 } from '../../support/ipv6.ts';
import { startService } from '../../support/service.ts';
import { newFile } from '../../support/sqlite.ts';

const PET = '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}';

describe('a service', () => {
  it('builds absolute URLs from PUBLIC_URL', async () => {
    const { url } = await startService({ PUBLIC_URL: 'https://petstore.example/api/' });
    const created = await ask(`${url}/v1/pets`, { body: PET });
    expect(created.headers['location']).toBe('/api/v1/pets/1');
    const { body } = await ask(`${url}/openapi.json`);
    expect(JSON.parse(body)).toMatchObject({ servers: [{ url: 'https://petstore.example/api/v1' }] });
  });

  it.for(['0.0.0.0', '::1'])('listens on HOST=%s', async (HOST, { skip }) => {
    if (HOST === '::1' && !HAS_IPV6) skip(NO_IPV6);
    const { url } = await startService({ HOST });
    expect(new URL(url).hostname).toBe(HOST === '::1' ? '[::1]' : HOST);
    expect((await ask(`${url.replace('0.0.0.0', '127.0.0.1')}/livez`)).status).toBe(200);
  });

  it('stops only once, even when stop is called twice', async () => {
    const { stop } = await startService();
    const stopping = stop();
    expect(stop()).toBe(stopping);
    expect(await stopping).toBe(0);
    expect(await stop()).toBe(0);
  });
});

it.each([
  ['after the request', 10],
  ['at the latest when it stops', 3_600_000],
])(
  'a service with its keys in the storage records the last use of a key %s',
  async (_, recordUsesEveryMs) => {
    const file = await newFile();
    const { keys, close } = await openSqliteKeys(file);
    onTestFinished(close);
    const now = () => new Date('2026-12-24T12:00:00Z');
    const create = new CreateKey(keys, mintKey, now);
    const { token, key } = await create.execute({ label: 'x', scopes: SCOPES });

    const env = { API_KEYS: '', DATABASE_URL: `sqlite:${file}` };
    const { url, stop } = await startService(env, { now, recordUsesEveryMs });
    expect((await ask(`${url}/v1/pets`, { key: token })).status).toBe(200);
    if (recordUsesEveryMs > 10) await stop();
    await expect.poll(async () => (await keys.findById(key.id))?.lastUsedAt).toStrictEqual(now());
  },
);

describe('a service with its pets in a SQLite file', () => {
  it('closes it when it cannot listen', async () => {
    const DATABASE_URL = `sqlite:${await newFile()}`;
    const { port: PORT } = await silentServer();
    await expect(startService({ DATABASE_URL, PORT })).rejects.toThrow(`PORT is ${PORT}, `);
    // The file would be in use.
    expect((await ask(`${(await startService({ DATABASE_URL })).url}/readyz`)).status).toBe(200);
  });

  it('logs a warning and answers 503 when the file is moved away, and recovers when it is back', async () => {
    const file = await newFile();
    const { url, logged } = await startService({ DATABASE_URL: `sqlite:${file}` });
    await rename(file, `${file}-moved`);

    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 503 });
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200 });
    expect(await logged(/writes are refused until this is fixed: /)).toMatchObject({ level: 40 });
    await rename(`${file}-moved`, file);

    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201 });
    await logged(/ are back in place: writes resume/);
  });
});
