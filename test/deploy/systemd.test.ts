import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../proof/failure/free-port.ts';
import { ask, KEY } from '../support/client.ts';
import { HAS_IPV6, NO_IPV6 } from '../support/ipv6.ts';
import { type Program, run, runService } from '../support/process.ts';
import { systemdUnit } from './systemd-unit.ts';
import { testDirectory } from '../support/test-directory.ts';
import { PEM_FILES } from '../support/tls/pem-files.ts';

const EXECUTABLE = '/usr/local/bin/petstore';

/** systemd rates the exposure of a unit from 0 (safe) to 10. It calls 4.5 and more "medium". */
const MAX_EXPOSURE = 2;

const TLS = { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key };

const unit = await systemdUnit(3001);

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** Writes the unit to a file with an executable that exists, because `systemd-analyze` checks this, too. */
async function installUnit(): Promise<string> {
  const directory = await testDirectory();
  const executable = join(directory, 'petstore');
  await writeFile(executable, '#!/bin/sh\n', { mode: 0o755 });
  const path = join(directory, 'petstore@3001.service');
  await writeFile(path, unit.text.replaceAll(EXECUTABLE, executable));
  return path;
}

function execute(setting: string, env: Readonly<Record<string, string>>): Program {
  return run('bash', ['-c', unit.command(setting)], env);
}

async function analyze(...args: readonly string[]): Promise<string> {
  const program = run('systemd-analyze', [...args, await installUnit()]);
  expect(await program.ended, program.stderr).toStrictEqual({ code: 0, signal: null });
  return program.stdout + program.stderr;
}

describe.skipIf(!hasAnalyze)(
  `the systemd unit${hasAnalyze ? '' : ' (left out: no systemd-analyze: install systemd)'}`,
  () => {
    it('is valid', async () => {
      expect(await analyze('verify', '--man=no')).toBe('');
    });

    it(`has an exposure of at most ${MAX_EXPOSURE}`, async () => {
      const report = await analyze('security', '--offline=true');
      const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
      expect(exposure, report).toBeLessThanOrEqual(MAX_EXPOSURE);
    });
  },
);

describe.skipIf(!hasCurl)(
  `the commands of the systemd unit${hasCurl ? '' : ' (left out: no curl: install it)'}`,
  () => {
    /** Runs a service, and the command of the unit that waits for the service. */
    async function startAndWait(env: Readonly<Record<string, string>>): Promise<Program> {
      const address = { PORT: `${await freePort()}`, ...env };
      const waiting = execute('ExecStartPost', address);
      const service = runService({ API_KEYS: KEY, ...address });
      expect(await waiting.ended).toStrictEqual({ code: 0, signal: null });
      expect(waiting.stdout).toBe('');
      expect(await service.logged('request')).toMatchObject({ route: '/readyz', status: 200 });
      return service;
    }

    it('wait for /readyz over IPv6 and TLS, and make the service read its certificate again', async ({
      skip,
    }) => {
      if (!HAS_IPV6) skip(NO_IPV6);
      const service = await startAndWait({ HOST: '::1', ...TLS });
      const reload = execute('ExecReload', { ...TLS, MAINPID: `${service.pid}` });
      expect(await reload.ended).toStrictEqual({ code: 0, signal: null });
      await service.logged('TLS_CERT and TLS_KEY were read again, for new connections');
    });

    it('wait for /readyz over IPv4, and let a reload fail when the service has no certificate', async () => {
      const service = await startAndWait({ HOST: '127.0.0.1' });
      const reload = execute('ExecReload', { MAINPID: `${service.pid}` });
      expect(await reload.ended).toStrictEqual({ code: 1, signal: null });
      expect((await ask(`${await service.url()}/livez`)).status).toBe(200);
      expect(service.log.map(({ msg }) => msg)).not.toContain('shutting down');
    });
  },
);

it('the systemd unit sets the port of its instance, and gives it the time for a drain behind HAProxy', () => {
  expect(unit.environment).toMatchObject({ HOST: '127.0.0.1', PORT: '3001' });
  // The sum of SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT, and 3 s to close the storage.
  expect(Number.parseInt(unit.setting('TimeoutStopSec'), 10)).toBeGreaterThanOrEqual(25 + 25 + 3);
});
