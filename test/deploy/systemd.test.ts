import { execFile, spawnSync } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { freePort } from '../failure/free-port.ts';
import { ask, KEY } from '../support/client.ts';
import { type Program, ROOT, run, runService } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';
import { PEM_FILES } from '../support/tls/pem-files.ts';

const EXECUTABLE = '/usr/local/bin/petstore';

/** systemd's rating from 0 (safe) to 10. It calls units from 4.5 on "medium". */
const MAX_EXPOSURE = 2;

const TLS = { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key };

const unit = await readFile(join(ROOT, 'deploy/systemd/petstore.service'), 'utf8');

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** The unit with an executable that exists: what `systemd-analyze` checks. */
async function installed(): Promise<string> {
  const directory = await testDirectory();
  const executable = join(directory, 'petstore');
  await writeFile(executable, '#!/bin/sh\n');
  await chmod(executable, 0o755);
  const path = join(directory, 'petstore.service');
  await writeFile(path, unit.replaceAll(EXECUTABLE, executable));
  return path;
}

/** Runs a command of the unit. systemd itself would make a dollar sign of two. */
function execute(setting: string, env: Readonly<Record<string, string>>): Program {
  const [, command = ''] = new RegExp(`^${setting}=(.*)$`, 'm').exec(unit) ?? [];
  return run('bash', ['-c', `exec ${command.replaceAll('$$', '$')}`], env);
}

async function analyze(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('systemd-analyze', args);
  return stdout + stderr;
}

describe.skipIf(!hasAnalyze)(
  `the systemd unit${hasAnalyze ? '' : ' (left out: no systemd-analyze: install systemd)'}`,
  () => {
    it('is valid', async () => {
      expect(await analyze('verify', '--man=no', await installed())).toBe('');
    });

    it('is hardened', async () => {
      const report = await analyze('security', '--offline=true', await installed());
      const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
      expect(exposure, report).toBeLessThanOrEqual(MAX_EXPOSURE);
    });
  },
);

describe.skipIf(!hasCurl)(
  `the start of the systemd unit${hasCurl ? '' : ' (left out: no curl: install it)'}`,
  () => {
    it.each([
      ['127.0.0.1', {}],
      ['::1', {}],
      ['127.0.0.1', TLS],
    ])('is complete when /readyz answers 200: %s, %j', async (HOST, tls) => {
      const env = { HOST, PORT: `${await freePort()}`, ...tls };
      const waiting = execute('ExecStartPost', env);
      const service = runService({ API_KEYS: KEY, ...env });
      await service.url();
      expect(await waiting.ended).toStrictEqual({ code: 0, signal: null });
      expect(waiting.stdout).toBe('');
      expect(await service.logged('request')).toMatchObject({ route: '/readyz', status: 200 });
    });
  },
);

describe('a reload of the systemd unit', () => {
  it('makes the service read its certificate again', async () => {
    const service = runService({ API_KEYS: KEY, ...TLS });
    await service.url();
    const reload = execute('ExecReload', { ...TLS, MAINPID: `${service.pid}` });
    expect(await reload.ended).toStrictEqual({ code: 0, signal: null });
    await service.logged('TLS_CERT and TLS_KEY were read again, for new connections');
  });

  it('fails without a certificate, and leaves the service alone', async () => {
    const service = runService({ API_KEYS: KEY });
    const url = await service.url();
    const reload = execute('ExecReload', { MAINPID: `${service.pid}` });
    expect(await reload.ended).toStrictEqual({ code: 1, signal: null });
    expect((await ask(`${url}/livez`)).status).toBe(200);
    expect(service.log.map(({ msg }) => msg)).not.toContain('shutting down');
  });
});

it('gives the service the time for its drain that it takes by default', () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]);
  // SHUTDOWN_TIMEOUT, and 3 s to close the storage.
  expect(seconds).toBeGreaterThanOrEqual(25 + 3);
});
