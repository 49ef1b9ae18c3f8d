import { expect, it } from 'vitest';
import { freePort } from '../../../proof/failure/free-port.ts';
import { ask, connect, CREATED, KEY, silentServer, startStalledCreate } from '../../support/client.ts';
import { scrape } from '../../support/metrics.ts';
import { DONE, FAILED, DELAY_UNTIL_SIGUSR2, preload, runService } from '../../support/process.ts';

/** Returns a value of NODE_OPTIONS that makes the process run the statement on SIGUSR2. */
const onSigusr2 = (statement: string) => preload(`process.on('SIGUSR2', () => { ${statement} })`);

/** Tracing is on, but the sampler drops every trace. */
const TRACING_ON = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'always_off' };

it.each([
  ['SIGINT', 'SIGTERM'],
  ['SIGHUP', 'SIGINT'],
] as const)('%s lets a request finish, even if the same signal and %s follow', async (signal, other) => {
  const service = runService({ API_KEYS: KEY });
  const { complete } = await startStalledCreate(await service.url());

  service.signal(signal);
  expect(await service.logged('shutting down')).toMatchObject({ level: 30, reason: signal });
  service.signal(signal);
  service.signal(other);

  expect(await complete()).toStrictEqual(CREATED);
  expect(await service.ended).toStrictEqual(DONE);
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

it.each([
  ['SIGHUP', DONE, []],
  // On SIGUSR2 the service throws, as if it had a bug.
  ['SIGUSR2', FAILED, ['stopping because of a bug']],
] as const)(
  '%s ends a start that waits for the storage and already serves metrics',
  async (signal, end, bugLines) => {
    const { port, asked } = await silentServer();
    const METRICS_PORT = `${await freePort()}`;
    const env = { METRICS_PORT, NODE_OPTIONS: onSigusr2("throw new TypeError('boom')") };
    const service = runService({ DATABASE_URL: `mongodb://127.0.0.1:${port}/petstore`, ...env });

    await asked;
    await scrape(`http://127.0.0.1:${METRICS_PORT}/metrics`);
    service.signal(signal);

    expect(await service.ended).toStrictEqual(end);
    expect(service.log.map(({ msg }) => msg)).toStrictEqual([...bugLines, 'shutting down']);
    expect(service.stderr).toBe('');
  },
);

it('a drain accepts requests for SHUTDOWN_DELAY, while /readyz answers 503', async () => {
  const service = runService({ API_KEYS: KEY, ...DELAY_UNTIL_SIGUSR2 });
  const url = await service.url();
  service.signal('SIGTERM');
  await service.logged('shutting down');
  expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503, headers: { connection: 'close' } });
  expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, headers: { connection: 'close' } });
  service.signal('SIGUSR2');
  expect(await service.ended).toStrictEqual(DONE);
  expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
  await expect(connect(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('a service refuses connections above MAX_CONNECTIONS, and its drain reports how many connections it cut off after SHUTDOWN_TIMEOUT', async () => {
  const service = runService({ API_KEYS: KEY, SHUTDOWN_TIMEOUT: '100ms', MAX_CONNECTIONS: '1' });
  const url = await service.url();
  const { cutOff } = await startStalledCreate(url);
  await (await connect(url)).closed();
  await service.logged('connections were refused: MAX_CONNECTIONS connections are open');
  service.signal('SIGHUP');
  await cutOff();
  expect(await service.ended).toStrictEqual(DONE);
  expect(service.log.find(({ msg }) => msg === 'stopped')).toMatchObject({ cutOff: 1 });
});

it.each([
  ['an unhandled rejection', "Promise.reject(new TypeError('boom'))", {}],
  ['an uncaught exception while tracing is on', "throw new TypeError('boom')", TRACING_ON],
  ['a bug in a drain', "process.emit('SIGTERM'); throw new TypeError('boom')", { SHUTDOWN_TIMEOUT: '10s' }],
])('%s is logged, and ends the service with code 1 after the last answer', async (_, bug, env) => {
  const service = runService({ API_KEYS: KEY, NODE_OPTIONS: onSigusr2(bug), ...env });
  const { complete } = await startStalledCreate(await service.url());

  service.signal('SIGUSR2');
  expect(await service.logged('stopping because of a bug')).toMatchObject({
    level: 60,
    err: { type: 'TypeError', message: 'boom', stack: expect.stringMatching(/^TypeError: boom\n {4}at /) },
  });

  expect(await complete()).toStrictEqual(CREATED);
  expect(await service.ended).toStrictEqual(FAILED);
  expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
});

it('a failure to close the storage is logged, and ends the service with exit code 1', async () => {
  const code = "AsyncDisposableStack.prototype.disposeAsync = () => Promise.reject(new TypeError('boom'))";
  const service = runService({ API_KEYS: KEY, NODE_OPTIONS: preload(code) });
  await service.url();
  service.signal('SIGTERM');
  expect(await service.ended).toStrictEqual(FAILED);
  expect(service.log.at(-1)).toMatchObject({ level: 60, err: { message: 'boom' } });
});
