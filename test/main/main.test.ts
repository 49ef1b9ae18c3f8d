import { describe, expect, it } from 'vitest';
import { readBuild } from '../../src/main/config/build.ts';
import { expectRefusal, runCommand } from '../support/command.ts';
import { DONE, FAILED, preload, runInJournal, runService, stop } from '../support/process.ts';
import { newPath } from '../support/sqlite.ts';
import { ask, KEY, silentServer } from '../support/client.ts';
import { PEM_FILES } from '../support/tls/pem-files.ts';

describe('the key made at start', () => {
  const CURL_COMMAND = /^ +curl -H 'Authorization: Bearer (pets_\w{66})' '(http:\S+)\/v1\/pets'$/m;

  it('is printed once to standard error and never to the log, and the log contains the address with the port that the system assigned', async () => {
    const service = runService({ LOG_LEVEL: 'trace' });
    const [, key = ''] = await service.printed(CURL_COMMAND, 'stderr');
    const url = await service.url();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
    const listening = `listening on ${url} (page at ${url}/docs)`;
    expect(service.log).toStrictEqual([
      expect.objectContaining({ audit: 'key.made' }),
      { level: 30, time: expect.any(Number), url, ...readBuild(), msg: listening },
    ]);
    expect(await ask(`${url}/v1/pets`, { key })).toMatchObject({ status: 200 });
    await stop(service);
    expect(service.stderr).toBe(
      '\nThere is no API key yet, so one was made for this run. Try:\n\n' +
        `  curl -H 'Authorization: Bearer ${key}' '${url}/v1/pets'\n\n` +
        `Or paste the key into the page of the API:\n\n  ${url}/docs\n\n`,
    );
    expect(service.log.map(({ msg, keyLabel }) => [msg, keyLabel])).toContainEqual(['request', 'start']);
    expect(service.stdout).not.toContain(key);
  });

  it('is not made when the journal of systemd would record the key, and the journal contains all warnings', async () => {
    const DATABASE_URL = `sqlite:${await newPath()}`;
    const service = runInJournal({ DATABASE_URL, LOG_LEVL: 'trace', OTEL_TRACES_EXPORTER: 'none at all' });
    const url = await service.url();
    expect(service.log.slice(0, 3)).toMatchObject([
      { level: 40, msg: expect.stringContaining('OTEL_TRACES_EXPORTER') },
      { level: 40, msg: expect.stringContaining('LOG_LEVL') },
      { level: 40, msg: 'there is no API key yet; run: bin/petstore keys create --label NAME' },
    ]);
    const create = await runCommand(['keys', 'create', '--label', 'first'], { DATABASE_URL });
    expect((await ask(`${url}/v1/pets`, { key: create.stdout.trim() })).status).toBe(200);
    await stop(service);
    expect(service.stderr).toBe('');
  });

  it('is printed even when the log is silent and the journal records the output of another program', async () => {
    const service = runService({ LOG_LEVEL: 'silent', JOURNAL_STREAM: '8:306630' });
    const [, key = '', url] = await service.printed(CURL_COMMAND, 'stderr');
    expect(await ask(`${url}/v1/pets`, { key })).toMatchObject({ status: 200 });
    await stop(service);
    expect(service.stdout).toBe('');
  });
});

/** Returns a value of NODE_OPTIONS that makes the process receive the signal before it has loaded the commands. */
const emitEarly = (signal: string) =>
  preload(`
    import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) {
      if (url.endsWith('/command-line/run.ts')) process.emit('${signal}');
      return next(url, context);
    } });`);

const TLS = { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key };

describe('a signal before the commands are loaded', () => {
  it('ends the start of the service when the signal is SIGTERM', async () => {
    const service = runService({ API_KEYS: KEY, NODE_OPTIONS: emitEarly('SIGTERM') });
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.log.map(({ msg, reason }) => [msg, reason])).toContainEqual(['shutting down', 'SIGTERM']);
    expect(service.stderr).toBe('');
  }, 20_000);

  it('ends a command when the signal is SIGHUP', async () => {
    const command = runService({ NODE_OPTIONS: emitEarly('SIGHUP') }, ['check', '--from', 'sqlite:none']);
    expect(await command.ended).toStrictEqual({ code: 129, signal: null });
  });

  it('makes a service with TLS read its certificate again after the start when the signal is SIGHUP', async () => {
    const service = runService({ API_KEYS: KEY, ...TLS, NODE_OPTIONS: emitEarly('SIGHUP') });
    await service.logged('TLS_CERT and TLS_KEY were read again, for new connections');
    await stop(service);
  });
});

it('a start that fails reports every invalid variable on its own line', async () => {
  await expectRefusal(
    [],
    /^petstore: PORT must be an integer from 0 to 65535\npetstore: LOG_LEVEL must be one of [a-z, ]+ silent\n$/,
    { env: { PORT: 'http', LOG_LEVEL: 'loud' } },
  );
});

// No machine has the address 192.0.2.1: RFC 5737. No DNS server is asked for a name with a part of 64 letters, because
// a part may have at most 63 letters.
it.each<readonly [what: string, env: () => Promise<Record<string, string>>, problem: RegExp]>([
  [
    'its port is in use, even after it made a key and received a SIGHUP',
    async () => ({ PORT: (await silentServer()).port, ...TLS, NODE_OPTIONS: emitEarly('SIGHUP') }),
    /^petstore: PORT is \d+, which is in use on 127\.0\.0\.1: stop what uses it, or set another PORT\n$/,
  ],
  [
    'HOST is an address of another machine',
    async () => ({ HOST: '192.0.2.1', API_KEYS: KEY }),
    /^petstore: HOST is "192\.0\.2\.1", where this machine cannot listen \(EADDRNOTAVAIL\): set it to an address /,
  ],
  [
    'HOST is a URL, whose password it hides',
    async () => ({ HOST: `http://me:hunter2@home@${'x'.repeat(64)}`, API_KEYS: KEY }),
    /^petstore: HOST is "…@x{64}", where this machine cannot listen \(E\w+\): .* unset it if a shell or a tool has set it\n$/,
  ],
])('a start that fails prints only one line when %s', async (_, env, problem) => {
  const service = runService(await env());
  expect(await service.ended).toStrictEqual(FAILED);
  expect(service.stderr).toMatch(problem);
  expect(service.stdout).toBe('');
});

it('a start that fails because of a bug prints the stack', async () => {
  const bug =
    "import { Server } from 'node:http'; Server.prototype.listen = () => { throw new Error('boom') }";
  const service = runService({ API_KEYS: KEY, NODE_OPTIONS: preload(bug) });
  expect(await service.ended).toStrictEqual(FAILED);
  expect(service.stderr).toMatch(/^petstore: Error: boom\n {4}at .*\n/);
  expect(service.stderr).toContain('src/main/service/start.ts');
});
