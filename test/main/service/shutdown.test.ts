import { describe, expect, it } from 'vitest';
import { type Program, runService } from '../../support/process.ts';
import { connect, CREATED, KEY, silentServer, stalledCreate } from '../../support/client.ts';

const HOST = 'Host: petstore.example\r\n\r\n';
const GET_LIVEZ = `GET /livez HTTP/1.1\r\n${HOST}`;

/** A module for `--import`: what a bug would do, at the signal SIGUSR2. */
function bug(statement: string): string[] {
  const code = `process.on('SIGUSR2', () => { ${statement} })`;
  return [`--import=data:text/javascript,${encodeURIComponent(code)}`];
}

async function started(env: Record<string, string> = {}): Promise<{ service: Program; url: string }> {
  const service = runService({ API_KEYS: KEY, ...env });
  return { service, url: await service.url() };
}

describe.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s', (signal) => {
  it('lets a request in flight have its whole answer, and ends the process with 0', async () => {
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

  it('ends a service that has nothing to do', async () => {
    const { service } = await started();
    service.signal(signal);
    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
  });

  it('again, once or twice, cuts nothing off', async () => {
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

  it('ends a start that waits for the storage', async () => {
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
  it('closes the connections that are idle, and takes no new one', async () => {
    const { service, url } = await started();
    const [idle, unused] = [await connect(url), await connect(url)];
    await idle.send(GET_LIVEZ);
    expect(await idle.answer()).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
    const { complete } = await stalledCreate(url);

    service.signal('SIGTERM');
    await service.logged('shutting down');

    await Promise.all([idle.closed(), unused.closed()]);
    await expect(connect(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await complete()).toStrictEqual(CREATED);
  });

  it('is alive, but not ready', async () => {
    const { service, url } = await started();
    const [alive, ready] = [await connect(url), await connect(url)];
    // The answer to the first request says that the beginning of the second, sent with it, has been read.
    await alive.send(`${GET_LIVEZ}GET /livez HTTP/1.1\r\n`);
    await ready.send(`${GET_LIVEZ}GET /readyz HTTP/1.1\r\n`);
    expect([(await alive.answer()).status, (await ready.answer()).status]).toStrictEqual([200, 200]);

    service.signal('SIGTERM');
    await service.logged('shutting down');
    await Promise.all([alive.send(HOST), ready.send(HOST)]);

    expect(await alive.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await ready.answer()).toMatchObject({
      status: 503,
      headers: { connection: 'close', 'retry-after': '2' },
      body: expect.stringContaining('"code":"UNAVAILABLE"'),
    });
    await Promise.all([alive.closed(), ready.closed()]);
    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
  });

  it('waits no longer than SHUTDOWN_TIMEOUT for a stubborn client', async () => {
    const { service, url } = await started({ SHUTDOWN_TIMEOUT: '100ms' });
    const { cutOff } = await stalledCreate(url);

    service.signal('SIGTERM');

    await cutOff();
    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
    expect(service.log.find(({ msg }) => msg === 'stopped')).toMatchObject({ cutOff: 1 });
  });

  it('gives up when something keeps the process alive behind its back', async () => {
    const service = runService({
      API_KEYS: KEY,
      SHUTDOWN_TIMEOUT: '0s',
      NODE_OPTIONS: bug('setInterval(() => {}, 1000)')[0] ?? '',
    });
    await service.url();
    service.signal('SIGUSR2');
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual({ code: 1, signal: null });
    expect(service.log.at(-1)).toMatchObject({ level: 60, msg: 'still not stopped, giving up' });
  });
});

describe.each([
  ['an exception that nobody catches', "throw new TypeError('boom')"],
  ['a rejection that nobody handles', "Promise.reject(new TypeError('boom'))"],
])('%s', (_what, statement) => {
  it('is logged with its stack, and ends the service with 1, but cuts nothing off', async () => {
    const service = runService({ API_KEYS: KEY, NODE_OPTIONS: bug(statement)[0] ?? '' });
    const { complete } = await stalledCreate(await service.url());

    service.signal('SIGUSR2');
    expect(await service.logged('a bug ends the service')).toMatchObject({
      level: 60,
      err: { type: 'TypeError', message: 'boom', stack: expect.stringMatching(/^TypeError: boom\n {4}at /) },
    });

    expect(await complete()).toStrictEqual(CREATED);
    expect(await service.ended).toStrictEqual({ code: 1, signal: null });
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
  });
});
