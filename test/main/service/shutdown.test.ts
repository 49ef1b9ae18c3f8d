import { describe, expect, it } from 'vitest';
import { ask, connect, CREATED, KEY, silentServer, stalledCreate } from '../../support/client.ts';
import { LONG_DELAY, preload, type Program, runService } from '../../support/process.ts';
import { startService } from '../../support/service.ts';

const HOST = 'Host: petstore.example\r\n\r\n';
const GET_LIVEZ = `GET /livez HTTP/1.1\r\n${HOST}`;

/** For NODE_OPTIONS: a module that runs the statement on SIGUSR2. */
const onSigusr2 = (statement: string) => preload(`process.on('SIGUSR2', () => { ${statement} })`);

async function started(): Promise<{ service: Program; url: string }> {
  const service = runService({ API_KEYS: KEY });
  return { service, url: await service.url() };
}

describe.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s', (signal) => {
  it('lets a request in flight finish, and ends the process with 0', async () => {
    const { service, url } = await started();
    const { complete } = await stalledCreate(url);

    service.signal(signal);
    expect(await service.logged('shutting down')).toMatchObject({ level: 30, reason: signal });
    expect(await complete()).toStrictEqual(CREATED);

    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
    expect(service.log.map(({ msg }) => msg)).toStrictEqual([
      expect.stringMatching(/^listening on /),
      'shutting down',
      'audit',
      'request',
      'stopped',
    ]);
    expect(service.log.at(-1)).toMatchObject({ cutOff: 0 });
    expect(service.stderr).toBe('');
  });

  it('cuts nothing off when it is sent again, once or twice', async () => {
    const { service, url } = await started();
    const { complete } = await stalledCreate(url);

    service.signal(signal);
    await service.logged('shutting down');
    service.signal(signal);
    service.signal(signal === 'SIGINT' ? 'SIGTERM' : 'SIGINT');

    expect(await complete()).toStrictEqual(CREATED);
    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
    expect(service.log.filter(({ msg }) => msg === 'shutting down')).toHaveLength(1);
  });

  it('ends a start that is waiting for the storage', async () => {
    const { port, asked } = await silentServer();
    const service = runService({ DATABASE_URL: `mongodb://127.0.0.1:${port}/petstore` });

    await asked;
    service.signal(signal);

    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
    expect(service.log.map(({ msg }) => msg)).toStrictEqual(['shutting down']);
    expect(service.stderr).toBe('');
  });
});

describe('while it drains', () => {
  it('closes idle connections, and takes no new ones', async () => {
    const { url, stop } = await startService();
    const [idle, unused] = [await connect(url), await connect(url)];
    await idle.send(GET_LIVEZ);
    expect(await idle.answer()).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
    const { complete } = await stalledCreate(url);

    const stopping = stop();

    await Promise.all([idle.closed(), unused.closed()]);
    await expect(connect(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await complete()).toStrictEqual(CREATED);
    expect(await stopping).toBe(0);
  });

  it('is alive, but not ready', async () => {
    const { url, stop } = await startService();
    const [alive, ready] = [await connect(url), await connect(url)];
    // The answer to the first request shows that the service has also read the beginning of the second one.
    await alive.send(`${GET_LIVEZ}GET /livez HTTP/1.1\r\n`);
    await ready.send(`${GET_LIVEZ}GET /readyz HTTP/1.1\r\n`);
    expect([(await alive.answer()).status, (await ready.answer()).status]).toStrictEqual([200, 200]);

    const stopping = stop();
    await Promise.all([alive.send(HOST), ready.send(HOST)]);

    expect(await alive.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await ready.answer()).toMatchObject({
      status: 503,
      headers: { connection: 'close', 'retry-after': '2' },
      body: expect.stringContaining('"code":"UNAVAILABLE"'),
    });
    await Promise.all([alive.closed(), ready.closed()]);
    expect(await stopping).toBe(0);
  });

  it('accepts requests for SHUTDOWN_DELAY, and is not ready meanwhile', async () => {
    const service = runService({ API_KEYS: KEY, ...LONG_DELAY });
    const url = await service.url();
    service.signal('SIGTERM');
    await service.logged('shutting down');
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503, headers: { connection: 'close' } });
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, headers: { connection: 'close' } });
    service.signal('SIGUSR2');
    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
    await expect(connect(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('waits no longer than SHUTDOWN_TIMEOUT for a stubborn client', async () => {
    const { url, stop } = await startService({ SHUTDOWN_TIMEOUT: '100ms' });
    const { cutOff } = await stalledCreate(url);

    const stopping = stop();

    await cutOff();
    expect(await stopping).toBe(1);
  });

  it('ends the process when something keeps it alive', async () => {
    const service = runService({
      API_KEYS: KEY,
      SHUTDOWN_TIMEOUT: '0s',
      NODE_OPTIONS: onSigusr2('setInterval(() => {}, 1000)'),
    });
    await service.url();
    service.signal('SIGUSR2');
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual({ code: 1, signal: null });
    expect(service.log.at(-1)).toMatchObject({ level: 60, msg: 'still not stopped, giving up' });
  });
});

describe.each([
  ['an uncaught exception', "throw new TypeError('boom')"],
  ['an unhandled rejection', "Promise.reject(new TypeError('boom'))"],
])('%s', (_what, statement) => {
  it('is logged with its stack, and ends the service with 1 after the requests in flight', async () => {
    const service = runService({ API_KEYS: KEY, NODE_OPTIONS: onSigusr2(statement) });
    const { complete } = await stalledCreate(await service.url());

    service.signal('SIGUSR2');
    expect(await service.logged('stopping because of a bug')).toMatchObject({
      level: 60,
      err: { type: 'TypeError', message: 'boom', stack: expect.stringMatching(/^TypeError: boom\n {4}at /) },
    });

    expect(await complete()).toStrictEqual(CREATED);
    expect(await service.ended).toStrictEqual({ code: 1, signal: null });
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
  });
});
