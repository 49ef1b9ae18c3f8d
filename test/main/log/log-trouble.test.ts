import { describe, expect, it, onTestFinished } from 'vitest';
import { Fifo } from '../../support/fifo.ts';
import { flood } from '../../support/flood.ts';
import { type Program, run, SERVICE } from '../../support/process.ts';
import { newFile } from '../../support/sqlite.ts';
import { ask, KEY } from '../../support/client.ts';

const DONE = { code: 0, signal: null };
const FAILED = { code: 1, signal: null };
/** Both make log lines longer: fewer requests then fill the service's buffer. */
const LONG_ID = 'i'.repeat(64);
const LONG_LABEL = 'l'.repeat(64);
const PET = '{"name":"Rex","categoryId":1}';
const MADE = /Bearer (\S+)' '(http:\S+)\/v1\/pets'/;
const LOST = /^petstore: (\d+) log lines were lost, (\d+) of them audit lines\n$/m;

/** Starts the service, or a command, from a shell. Descriptor 9 is a pipe whose reader is gone. */
function redirected(
  redirection: string,
  { args = '', ...env }: Record<string, string> & { args?: string } = {},
): Program {
  const line = `exec 9> >(:); wait $!; exec '${process.execPath}' ${SERVICE.join(' ')} ${args} ${redirection}`;
  return run('bash', ['-c', line], { PORT: '0', DATABASE_URL: 'memory:', ...env });
}

async function fifo(): Promise<Fifo> {
  const made = await Fifo.make();
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

/** The headers of a request with this key. */
const headersOf =
  (key = KEY) =>
  () => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': LONG_ID });

/** A service whose log is not read after the first line. */
async function unread(
  env: Record<string, string> = {},
): Promise<{ log: Fifo; service: Program; url: string }> {
  const log = await fifo();
  const service = redirected(`> '${log.path}'`, { API_KEYS: `${LONG_LABEL}=${KEY}`, ...env });
  const [, url = ''] = await log.read(/"url":"([^"]+)".*\n/);
  return { log, service, url };
}

describe('a service whose standard output', () => {
  it.each([
    ['is on a full device', '> /dev/full', 304],
    ['has lost its reader', '>&9', 304],
    ['is closed', '>&-', undefined],
  ])('%s keeps serving, exits with 0, and reports what was lost', async (_what, redirection, lost) => {
    const service = redirected(redirection);
    const [, key = '', url = ''] = await service.printed(MADE, 'stderr');
    await flood(`${url}/livez`, 300, { status: 200, headers: headersOf() });
    expect(await ask(`${url}/v1/pets`, { key, body: PET })).toMatchObject({
      status: 201,
    });
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
    // Besides the requests: two audit lines, and the lines of listening, shutting down and having stopped.
    const told = lost === undefined ? undefined : [`${lost + 2}`, '2'];
    expect(LOST.exec(service.stderr)?.slice(1)).toStrictEqual(told);
  });
});

describe('a service whose log is not read', () => {
  it('reports dropped audit lines, even if it logs errors only', async () => {
    const log = await fifo();
    log.fill();
    const service = redirected(`> '${log.path}'`, { LOG_LEVEL: 'error' });
    const [, key = '', url = ''] = await service.printed(MADE, 'stderr');
    await flood(`${url}/v1/pets`, 7_000, { status: 201, body: PET, headers: headersOf(key) });
    const [report = ''] = await log.read(/\{"level":40.*"msg":"log lines were dropped".*\n/);
    const kept = log.text.match(/"audit":"pet.created"/g)?.length ?? 0;
    expect(kept).toBeLessThan(7_000);
    expect(JSON.parse(report)).toMatchObject({ lines: 7_000 - kept, auditLines: 7_000 - kept });
  });

  it.each([
    ['SIGTERM', 0],
    ['SIGUSR2', 1],
  ] as const)('exits after %s with %d', async (signal, code) => {
    const bug = "process.on('SIGUSR2', () => { throw new Error('boom') })";
    const { service, url } = await unread({
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(bug)}`,
    });
    await flood(`${url}/v1/pets/1`, 1_000, { status: 404, headers: headersOf() });
    service.signal(signal);
    service.signal(signal);
    expect(await service.ended).toStrictEqual({ code, signal: null });
    expect(service.stderr).toMatch(LOST);
  });
});

describe('a first start whose standard error', () => {
  it('is closed serves', async () => {
    const service = redirected('2>&-');
    expect((await ask(`${await service.url()}/livez`)).status).toBe(200);
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
  });

  it.each([
    ['serves, and shows the key once it is read', /Bearer pets_\w+' /],
    ['serves, and exits with 0 without a reader', undefined],
  ])('is not read %s', async (_what, key) => {
    const errors = await fifo();
    errors.fill();
    const service = redirected(`2> '${errors.path}'`);
    expect((await ask(`${await service.url()}/livez`)).status).toBe(200);
    if (key !== undefined) await errors.read(key);
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
  });
});

describe('a command', () => {
  it('whose output cannot be written says so', async () => {
    const program = redirected('> /dev/full', { args: 'export --help' });
    expect(await program.ended).toStrictEqual(FAILED);
    expect(program.stderr).toBe(
      'petstore: standard output cannot be written: ENOSPC: no space left on device, write\n',
    );
  });

  it('whose output has no reader ends quietly, like a program that SIGPIPE ends', async () => {
    const program = redirected('>&9', { args: '--help' });
    expect(await program.ended).toStrictEqual({ code: 141, signal: null });
    expect(program.stderr).toBe('');
  });

  it.each(['is closed', 'has lost its reader', 'is not read'])(
    'does its work and exits even if its standard error %s',
    async (what) => {
      const errors = await fifo();
      errors.fill();
      const pipe = what === 'is not read' ? `2> '${errors.path}'` : '2>&9';
      const redirection = what === 'is closed' ? '2>&-' : pipe;
      const env = { DATABASE_URL: `sqlite:${await newFile()}` };
      const created = redirected(redirection, { ...env, args: 'keys create --label x' });
      expect(await created.ended).toStrictEqual(DONE);
      expect(created.stdout).toMatch(/^pets_\w+\n$/);
      const refused = redirected(redirection, { ...env, args: 'migrate' });
      expect(await refused.ended).toStrictEqual(FAILED);
    },
  );

  it('waits for a reader of its output', async () => {
    const output = await fifo();
    output.fill();
    const waiting = redirected(`> '${output.path}'`, { args: '--help' });
    await output.read(/Usage: bin\/petstore[^]+SHUTDOWN_TIMEOUT/);
    expect(await waiting.ended).toStrictEqual(DONE);
  });
});
