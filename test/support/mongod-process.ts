import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterDeath } from './after-death.ts';
import { findMongod } from './mongod-binary.ts';

const START_DEADLINE_MS = 30_000;

// With port 0 the system chooses a free one and mongod says which: nobody can take it in between.
const OPTIONS =
  '--bind_ip 127.0.0.1 --port 0 --nounixsocket --wiredTigerCacheSizeGB 0.25 --oplogSize 128'.split(' ');

export type MongodProcess = {
  /** On 127.0.0.1. */
  readonly port: number;
  readonly pid: number;
  /** Kills it and removes its data. May be called again. */
  readonly stop: () => Promise<void>;
};

/** A mongod on loopback with a fresh, temporary data directory. It does not outlive this process. */
export async function startMongodProcess(args: readonly string[] = []): Promise<MongodProcess> {
  const binary = await findMongod();
  const directory = await mkdtemp(join(tmpdir(), 'petstore-mongod-'));
  const logPath = join(directory, 'mongod.log');
  // A file, not a pipe: a log that nobody reads must not stop the server.
  const log = await open(logPath, 'w');
  const server = spawn(binary, ['--dbpath', directory, ...OPTIONS, ...args], {
    stdio: ['ignore', log.fd, log.fd],
    detached: true,
  });
  try {
    await once(server, 'spawn');
  } finally {
    await log.close();
  }
  server.unref();
  const cleanUp = afterDeath(['sh', '-c', 'kill -KILL "$1"; rm -rf "$2"', 'sh', `${server.pid}`, directory]);

  async function stop(): Promise<void> {
    await kill(server);
    await rm(directory, { recursive: true, force: true });
    cleanUp.cancel();
  }

  try {
    const port = await portOf(server, logPath);
    return { port, pid: server.pid ?? 0, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exit = once(server, 'exit');
  server.ref();
  server.kill('SIGKILL');
  await exit;
}

/** The port that mongod says it waits on. */
async function portOf(server: ChildProcess, logPath: string): Promise<number> {
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    const ended = server.exitCode !== null || server.signalCode !== null;
    const log = await readFile(logPath, 'utf8');
    const port = /"msg":"Waiting for connections","attr":\{"port":(\d+)/.exec(log)?.[1];
    if (port !== undefined) return Number(port);
    if (ended || Date.now() > deadline) {
      const lastLines = log.trim().split('\n').slice(-5).join('\n');
      throw new Error(
        `mongod ${ended ? 'ended at once' : 'did not start in time'}; its last lines:\n${lastLines}`,
      );
    }
    await sleep(20);
  }
}
