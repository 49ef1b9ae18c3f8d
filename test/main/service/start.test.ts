import { rename } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../../proof/failure/free-port.ts';
import { ask, connect, silentServer } from '../../support/client.ts';
import { runCommand } from '../../support/command.ts';
import { HAS_IPV6, NO_IPV6 } from '../../support/ipv6.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { startService } from '../../support/service.ts';
import { newPath } from '../../support/sqlite.ts';

const PET = '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}';

const NO_PROXY =
  'other machines can reach this port, and no setting names a proxy; put a proxy in front of this port that limits ' +
  'the connections and the time of each address';

describe('a service', () => {
  it('uses PUBLIC_URL in Location and in the OpenAPI document', async () => {
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

  it.each([
    [{ HOST: '0.0.0.0' }, [NO_PROXY]],
    [{ HOST: '0.0.0.0', TRUST_PROXY: 'true' }, []],
    [{ HOST: '0.0.0.0', PUBLIC_URL: 'https://petstore.example' }, []],
    [{ HOST: '127.0.0.2' }, []],
  ])('recommends a proxy only if other machines can reach it directly: %j', async (env, lines) => {
    const { log } = await startService(env);
    expect(log.map(({ msg }) => msg)).toStrictEqual(lines);
  });

  it.skipIf(process.platform !== 'linux')(
    'closes all of its sockets when it stops (needs /proc of Linux)',
    async () => {
      const sockets = async () => (await openFilesIn('socket:')).length;
      const earlierCount = await sockets();
      const { metricsUrl = '', stop } = await startService({ METRICS_PORT: '0' });
      await connect(metricsUrl);
      const stopResult = stop();
      expect(stop()).toBe(stopResult);
      expect(await stopResult).toBe(0);
      // One socket may remain, because the client has not closed its end of the connection.
      expect(await sockets()).toBeLessThanOrEqual(earlierCount + 1);
    },
  );

  it('reports at every log level that it made a key', async () => {
    const { log } = await startService({ API_KEYS: '', LOG_LEVEL: 'fatal' });
    expect(log).toMatchObject([{ level: 30, audit: 'key.made', keyLabel: 'start' }]);
  });
});

// test/main/command-line/slow-storages.test.ts tests that a service records the last use of a key when it stops.
it('a service records the last use of a stored key after the request, and tries again after a failure', async () => {
  const file = await newPath();
  const env = { API_KEYS: '', DATABASE_URL: `sqlite:${file}` };
  const { stdout: key } = await runCommand(['keys', 'create', '--label', 'x'], env);
  const now = () => new Date('2026-12-24T12:00:00Z');
  const { url, logged } = await startService(env, { now, recordUsesEveryMs: 10 });
  await rename(file, `${file}-moved`);
  expect((await ask(`${url}/v1/pets`, { key: key.trim() })).status).toBe(200);
  const line = await logged(/^the times of last use of API keys could not be stored$/);
  expect(line).toMatchObject({ err: { type: 'StorageUnavailable' } });
  await rename(`${file}-moved`, file);
  const showKey = async () => (await runCommand(['keys', 'show', key.split('_')[1]!], env)).stdout;
  await expect.poll(showKey).toMatch(/^lastUsedAt: +2026-12-24T12:00:00/m);
}, 30_000);

it('a service that cannot listen closes its SQLite file and the port of its metrics', async () => {
  const env = { DATABASE_URL: `sqlite:${await newPath()}`, METRICS_PORT: `${await freePort()}` };
  const { port: PORT } = await silentServer();
  await expect(startService({ ...env, PORT })).rejects.toThrow(/^PORT is /);
  // This start would fail if the file or the port were still in use.
  expect((await ask(`${(await startService(env)).url}/readyz`)).status).toBe(200);
});

it.each(['127.0.0.1', '0.0.0.0'])('a service at HOST=%s refuses METRICS_PORT as its PORT', async (HOST) => {
  const PORT = `${await freePort()}`;
  await expect(startService({ HOST, PORT, METRICS_PORT: PORT })).rejects.toThrow(
    `PORT is ${PORT}, which is in use on ${HOST}: stop what uses it, or set another PORT`,
  );
});

it('a service logs a warning and answers creates with 503 when its SQLite file is moved away, and recovers when the file returns', async () => {
  const file = await newPath();
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
