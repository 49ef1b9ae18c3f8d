import { describe, expect, it, vi } from 'vitest';
import { Fifo } from '../../support/fifo.ts';
import { numbers } from '../../support/numbers.ts';
import { DONE, FAILED, preload, type Program, run, SERVICE, stop } from '../../support/process.ts';
import { newPath } from '../../support/sqlite.ts';
import { ask } from '../../support/client.ts';

// A program that never ends fails its test after 30 s.
vi.setConfig({ testTimeout: 30_000 });

const PET = '{"name":"Rex","categoryId":1}';
const KEY_AND_URL = /Bearer (\S+)' '(http:\S+)\/v1\/pets'/;

/**
 * Runs the service, or the command in `args`, from a shell with this redirection. File descriptor 9 is a pipe whose
 * reader has exited.
 */
function runRedirected(
  redirection: string,
  { args = '', ...env }: Record<string, string> & { args?: string } = {},
): Program {
  const line = `exec 9> >(:); wait $!; exec '${process.execPath}' ${SERVICE.join(' ')} ${args} ${redirection}`;
  return run('bash', ['-c', line], { PORT: '0', DATABASE_URL: 'memory:', ...env });
}

/** Makes a named pipe that is full, so that writes to the pipe wait until a test reads from it. */
async function makeFullPipe(): Promise<Fifo> {
  const pipe = await Fifo.make();
  pipe.fill();
  return pipe;
}

it.each([
  ['is on a full device', 'SIGTERM', 0, '> /dev/full'],
  ['has no reader any more', 'SIGTERM', 0, '>&9'],
  ['is closed', 'SIGTERM', 0, '>&-'],
  ['is not read', 'SIGTERM', 0, undefined],
  ['is not read', 'SIGUSR2', 1, undefined],
] as const)(
  'a service whose standard output %s continues to answer requests, and exits after %s with code %i',
  async (_what, signal, code, redirection) => {
    // On SIGUSR2 the service throws, as if it had a bug.
    const service = runRedirected(redirection ?? `> '${(await makeFullPipe()).path}'`, {
      NODE_OPTIONS: preload("process.on('SIGUSR2', () => { throw new Error('boom') });"),
    });
    const [, key = '', url = ''] = await service.printed(KEY_AND_URL, 'stderr');
    for (const _ of numbers(40)) await ask(`${url}/livez`);
    expect(await ask(`${url}/v1/pets`, { key, body: PET })).toMatchObject({ status: 201 });
    service.signal(signal);
    service.signal(signal);
    expect(await service.ended).toStrictEqual({ code, signal: null });
  },
);

it('the log reports how many lines it has dropped when its reader reads again, even at the log level error', async () => {
  const log = await makeFullPipe();
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
  const keptLineCount = log.text.match(/"audit":"pet.created"/g)?.length ?? 0;
  expect(keptLineCount).toBeLessThan(10_000);
  expect(JSON.parse(report)).toMatchObject({ lines: 10_000 - keptLineCount });
});

describe('a service that makes an API key at its start', () => {
  it('serves requests when its standard error is closed', async () => {
    const service = runRedirected('2>&-');
    expect((await ask(`${await service.url()}/livez`)).status).toBe(200);
    await stop(service);
  });

  it.each([
    ['prints the key when a reader arrives', /Bearer pets_\w+' /],
    ['exits with code 0 after SIGTERM when no reader arrives', undefined],
  ])('serves requests while its standard error is not read, and %s', async (_what, keyPattern) => {
    const errors = await makeFullPipe();
    const service = runRedirected(`2> '${errors.path}'`);
    expect((await ask(`${await service.url()}/livez`)).status).toBe(200);
    if (keyPattern !== undefined) await errors.read(keyPattern);
    await stop(service);
  });
});

describe('a command', () => {
  it('reports that its standard output cannot be written', async () => {
    const program = runRedirected('> /dev/full', { args: 'export --help' });
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
    const command = runRedirected(redirection ?? `2> '${(await makeFullPipe()).path}'`, {
      DATABASE_URL: `sqlite:${await newPath()}`,
      args: 'keys create --label x',
    });
    expect(await command.ended).toStrictEqual(DONE);
    expect(command.stdout).toMatch(/^pets_\w+\n$/);
  });

  it('exits with code 1 after an error that it cannot print because its standard error is not read', async () => {
    const failedCommand = runRedirected(`2> '${(await makeFullPipe()).path}'`, {
      args: 'export --from sqlite:/nonexistent/petstore.db',
    });
    expect(await failedCommand.ended).toStrictEqual(FAILED);
  });

  it('waits until its standard output is read', async () => {
    const output = await makeFullPipe();
    const helpCommand = runRedirected(`> '${output.path}'`, { args: '--help' });
    await output.read(/Usage: bin\/petstore[^]+SHUTDOWN_TIMEOUT/);
    expect(await helpCommand.ended).toStrictEqual(DONE);
  });
});
