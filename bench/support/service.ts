import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { until } from '../../proof/failure/until.ts';

export const ROOT = join(import.meta.dirname, '../..');

export type RunningService = AsyncDisposable & { readonly pid: number; readonly port: number };

type Options = {
  /** The directory of the build, with its packages installed. This build by default. */
  readonly checkout?: string;
  /** Pins the service to this core. Linux only. */
  readonly core?: number;
  /** Takes standard output, which this process reads by default. */
  readonly logFile?: string;
};

/** Starts the service on a free port. Resolves when it listens. */
export async function startService(
  env: Readonly<Record<string, string>>,
  { checkout = ROOT, core, logFile }: Options = {},
): Promise<RunningService> {
  const ofUsers = join(checkout, 'bin/petstore');
  // Builds from before 2026-11-23 do not have it.
  const program = existsSync(ofUsers)
    ? [ofUsers]
    : [join(checkout, 'node_modules/.bin/node'), 'bin/petstore.js'];
  const pinned = core === undefined ? [] : ['taskset', '-c', `${core}`];
  const [command = '', ...args] = [...pinned, ...program];
  const log = logFile === undefined ? undefined : await open(logFile, 'w');
  const child = spawn(command, args, {
    cwd: checkout,
    env: { ...process.env, ...env, PORT: '0' },
    stdio: ['ignore', log?.fd ?? 'pipe', 'inherit'],
  });
  await log?.close();
  const ended = once(child, 'exit');
  const listening =
    child.stdout === null
      ? until('the line that has the URL', async () => lineWithUrl(await readFile(logFile ?? '', 'utf8')))
      : nextLineWithUrl(child.stdout);
  const exited = ended.then(() => {
    throw new Error('the service ended at once');
  });
  const { url } = JSON.parse(await Promise.race([listening, exited])) as { readonly url: string };
  return {
    pid: await lastChildOf(child.pid ?? 0),
    port: Number(new URL(url).port),
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

function lineWithUrl(text: string): string | undefined {
  return /^.*"url":.*(?=\n)/m.exec(text)?.[0];
}

function nextLineWithUrl(log: Readable): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  createInterface(log).on('line', (line) => lineWithUrl(`${line}\n`) !== undefined && resolve(line));
  return promise;
}

/** The process at the end of a chain of launchers, such as `taskset` and the shim of an npm package. */
async function lastChildOf(pid: number): Promise<number> {
  if (process.platform !== 'linux') return pid;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const [child = ''] = children.trim().split(' ');
  return child === '' ? pid : lastChildOf(Number(child));
}
