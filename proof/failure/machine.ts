import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { promisify } from 'node:util';
import { findMongod } from '../../test/support/mongod-binary.ts';
import { ROOT } from '../../test/support/process.ts';

const run = promisify(execFile);

/** Describes the hardware and the software on which the figures were measured. */
export async function machine(): Promise<readonly string[]> {
  const [{ stdout: commit }, { stdout: mongodVersion }, driverPackage] = await Promise.all([
    run('git', ['describe', '--always', '--dirty'], { cwd: ROOT }),
    run(await findMongod(), ['--version']),
    readFile(`${ROOT}/node_modules/mongodb/package.json`, 'utf8'),
  ]);
  const [cpu] = cpus();
  return [
    `commit ${commit.trim()}`,
    `Node ${process.versions.node}, SQLite ${process.versions['sqlite']}`,
    `MongoDB ${/db version v(\S+)/.exec(mongodVersion)?.[1]}, its driver ${JSON.parse(driverPackage).version}`,
    `${type()} ${release()}, ${cpus().length} × ${cpu?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  ];
}

/** Returns the load average of the last minute. */
export function loadAverage(): string {
  return `${loadavg()[0]?.toFixed(1)}`;
}
