import { execFile, spawnSync } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { freePort } from '../failure/free-port.ts';
import { KEY } from '../support/client.ts';
import { ROOT, run, runService } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

const EXECUTABLE = '/usr/local/bin/petstore';

/** systemd's rating from 0 (safe) to 10. It calls units from 4.5 on "medium". */
const MAX_EXPOSURE = 2;

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
    it('is complete when /readyz answers 200', async () => {
      const [, command = ''] = /^ExecStartPost=(.*)$/m.exec(unit) ?? [];
      const PORT = `${await freePort()}`;
      // As systemd replaces the variables: from its environment, each one argument.
      const waiting = run('bash', ['-c', `exec ${command}`], { HOST: '127.0.0.1', PORT });
      const service = runService({ API_KEYS: KEY, PORT });
      await service.url();
      expect(await waiting.ended).toStrictEqual({ code: 0, signal: null });
      expect(waiting.stdout).toBe('');
      expect(await service.logged('request')).toMatchObject({ route: '/readyz', status: 200 });
    });
  },
);

it('gives the service the time for its drain that it takes by default', () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]);
  // SHUTDOWN_TIMEOUT, and 3 s to close the storage.
  expect(seconds).toBeGreaterThanOrEqual(25 + 3);
});
