import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runAtProcessEnd } from '../../test/support/after-death.ts';
import { findOnPath } from '../../test/support/mongod-binary.ts';
import { ROOT } from '../../test/support/process.ts';
import { ask } from './ask.ts';
import { freePort } from './free-port.ts';
import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

/**
 * Starts HAProxy with the configuration of `deploy/haproxy`, in front of two services. Both may be the same service.
 * Skips the scenario if HAProxy is not installed.
 */
export async function startHaproxy(
  stage: Stage,
  services: readonly Pick<ServiceProcess, 'url'>[],
): Promise<{ readonly url: string; readonly pid: number } | undefined> {
  const program = await findOnPath('haproxy');
  if (program === undefined) {
    stage.skipReason = 'no haproxy on the PATH';
    return undefined;
  }
  const port = await freePort();
  const [PETSTORE_1 = '', PETSTORE_2 = ''] = services.map(({ url }) => new URL(url).host);
  const env = { BIND: `127.0.0.1:${port}`, PETSTORE_1, PETSTORE_2 };
  const proxy = spawn(program, ['-f', join(ROOT, 'deploy/haproxy/haproxy.cfg')], { env, stdio: 'ignore' });
  // HAProxy must not outlive this process, even if this process is killed.
  const killAtEnd = runAtProcessEnd(['kill', '-KILL', `${proxy.pid}`]);
  stage.resources.defer(async () => {
    proxy.kill('SIGKILL');
    killAtEnd.cancel();
  });
  const url = `http://127.0.0.1:${port}`;
  await until(
    'HAProxy answers /readyz with 200',
    async () => (await ask(`${url}/readyz`).catch(() => undefined))?.status === 200,
  );
  return { url, pid: proxy.pid! };
}
