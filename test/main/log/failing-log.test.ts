import { describe, expect, it, vi } from 'vitest';
import { Fifo } from '../../support/fifo.ts';
import { numbers } from '../../support/numbers.ts';
import { DONE, FAILED, preload, type Program, run, SERVICE, stop } from '../../support/process.ts';
import { newFile } from '../../support/sqlite.ts';
import { ask } from '../../support/client.ts';

// Programs that hang are noticed soon.
vi.setConfig({ testTimeout: 30_000 });

const PET = '{"name":"Rex","categoryId":1}';
const MADE = /Bearer (\S+)' '(http:\S+)\/v1\/pets'/;

/** Starts the service, or a command, from a shell. Descriptor 9 is a pipe whose reader is gone. */
function redirected(
  redirection: string,
  { args = '', ...env }: Record<string, string> & { args?: string } = {},
): Program {
  const line = `exec 9> >(:); wait $!; exec '${process.execPath}' ${SERVICE.join(' ')} ${args} ${redirection}`;
  return run('bash', ['-c', line], { PORT: '0', DATABASE_URL: 'memory:', ...env });
}

/** A pipe that is full until it is read. */
async function unread(): Promise<Fifo> {
  const made = await Fifo.make();
  made.fill();
  return made;
}

it.each([
  ['is on a full device', 'SIGTERM', 0, '> /dev/full'],
  ['has no reader any more', 'SIGTERM', 0, '>&9'],
  ['is closed', 'SIGTERM', 0, '>&-'],
  ['is not read', 'SIGTERM', 0, undefined],
  ['is not read', 'SIGUSR2', 1, undefined],
] as const)(
  'a service whose standard output %s continues to serve, and exits after %s with %i',
  async (_what, signal, code, redirection) => {
    const service = redirected(redirection ?? `> '${(await unread()).path}'`, {
      NODE_OPTIONS: preload("process.on('SIGUSR2', () => { throw new Error('boom') });"),
    });
    const [, key = '', url = ''] = await service.printed(MADE, 'stderr');
    for (const _ of numbers(40)) await ask(`${url}/livez`);
    expect(await ask(`${url}/v1/pets`, { key, body: PET })).toMatchObject({ status: 201 });
    service.signal(signal);
    service.signal(signal);
    expect(await service.ended).toStrictEqual({ code, signal: null });
  },
);

it('the log reports how many lines were dropped when its reader returns, even at the level error', async () => {
  const log = await unread();
  const program = `
    import { openServiceLog } from './src/main/log/open-log.ts';
    import { requestLog } from './src/main/log/request-log.ts';
    const log = await openServiceLog({ logLevel: 'error' });
    const { petCreated } = requestLog(log);
    const pet = { requestId: 'r'.repeat(64), petId: 1n, keyId: 'k', keyLabel: 'k', replayed: false };
    for (let n = 0; n < 10_000; n++) petCreated(pet);
    setInterval(() => {}, 60_000);`;
  run('bash', [
    '-c',
    `exec '${process.execPath}' --input-type=module-typescript -e "$0" > '${log.path}'`,
    program,
  ]);
  const [report = ''] = await log.read(/\{"level":40.*"msg":"log lines were dropped".*\n/);
  const kept = log.text.match(/"audit":"pet.created"/g)?.length ?? 0;
  expect(kept).toBeLessThan(10_000);
  expect(JSON.parse(report)).toMatchObject({ lines: 10_000 - kept });
});

describe('a first start', () => {
  it('serves requests when its standard error is closed', async () => {
    const service = redirected('2>&-');
    expect((await ask(`${await service.url()}/livez`)).status).toBe(200);
    await stop(service);
  });

  it.each([
    ['serves requests, and prints the key when a reader arrives', /Bearer pets_\w+' /],
    ['serves requests, and exits with 0 when no reader arrives', undefined],
  ])('whose standard error is not read %s', async (_what, key) => {
    const errors = await unread();
    const service = redirected(`2> '${errors.path}'`);
    expect((await ask(`${await service.url()}/livez`)).status).toBe(200);
    if (key !== undefined) await errors.read(key);
    await stop(service);
  });
});

describe('a command', () => {
  it('reports that its standard output cannot be written', async () => {
    const program = redirected('> /dev/full', { args: 'export --help' });
    expect(await program.ended).toStrictEqual(FAILED);
    expect(program.stderr).toBe(
      'petstore: standard output cannot be written: ENOSPC: no space left on device, write\n',
    );
  });

  it.each([
    ['is closed', '2>&-'],
    ['has no reader any more', '2>&9'],
    ['is not read', undefined],
  ])('completes and exits even if its standard error %s', async (_what, redirection) => {
    const created = redirected(redirection ?? `2> '${(await unread()).path}'`, {
      DATABASE_URL: `sqlite:${await newFile()}`,
      args: 'keys create --label x',
    });
    expect(await created.ended).toStrictEqual(DONE);
    expect(created.stdout).toMatch(/^pets_\w+\n$/);
  });

  it('exits with 1 after an error that it cannot print because its standard error is not read', async () => {
    const refused = redirected(`2> '${(await unread()).path}'`, {
      args: 'export --from sqlite:/nonexistent/petstore.db',
    });
    expect(await refused.ended).toStrictEqual(FAILED);
  });

  it('waits for a reader of its output', async () => {
    const output = await unread();
    const waiting = redirected(`> '${output.path}'`, { args: '--help' });
    await output.read(/Usage: bin\/petstore[^]+SHUTDOWN_TIMEOUT/);
    expect(await waiting.ended).toStrictEqual(DONE);
  });
});
