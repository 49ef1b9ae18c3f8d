import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runAtProcessEnd } from './after-death.ts';
import { findMongod } from './mongod-binary.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const START_TIMEOUT_MS = 120_000;

const OPTIONS = '--bind_ip 127.0.0.1 --nounixsocket --wiredTigerCacheSizeGB 0.25 --oplogSize 128'.split(' ');

export type MongodProcess = {
  /** The port on 127.0.0.1. */
  readonly port: number;
  readonly pid: number;
  /** Kills the process, and removes its data. A second call does nothing. */
  readonly stop: () => Promise<void>;
};

/** Starts a mongod on loopback with a new data directory. The mongod is killed when this process ends. */
export async function startMongodProcess(args: readonly string[] = []): Promise<MongodProcess> {
  await using cleanUpOnFailure = new AsyncDisposableStack();
  const directory = cleanUpOnFailure.use(await temporaryDirectory('mongod', { inMemory: true }));
  const { port, pid, kill: killMongod } = await runMongod({ directory: directory.path, args });
  cleanUpOnFailure.defer(killMongod);
  const cleanUp = cleanUpOnFailure.move();
  return { port, pid, stop: () => cleanUp.disposeAsync() };
}

export type RunningMongod = {
  readonly port: number;
  readonly pid: number;
  /** Sends SIGKILL, and resolves after the exit. A second call does nothing. */
  readonly kill: () => Promise<void>;
};

/** Starts a mongod on a new or existing data directory. The mongod is killed when this process ends. */
export async function runMongod({
  directory,
  // With port 0 the system chooses a free port, and mongod logs it. No other process can take the port before mongod.
  port = 0,
  args = [],
}: {
  readonly directory: string;
  readonly port?: number;
  readonly args?: readonly string[];
}): Promise<RunningMongod> {
  const binary = await findMongod();
  const logPath = join(directory, 'mongod.log');
  // The output goes to a file, because a full pipe would block the server.
  const log = await open(logPath, 'w');
  const server = spawn(binary, ['--dbpath', directory, '--port', `${port}`, ...OPTIONS, ...args], {
    stdio: ['ignore', log.fd, log.fd],
    detached: true,
  });
  try {
    await once(server, 'spawn');
  } finally {
    await log.close();
  }
  server.unref();
  const killAtExit = runAtProcessEnd(['kill', '-KILL', `${server.pid}`]);
  const stop = async () => {
    await kill(server);
    killAtExit.cancel();
  };
  try {
    return { port: await portOf(server, logPath), pid: server.pid ?? 0, kill: stop };
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

/** Waits until mongod listens, and returns the port from the log of mongod. */
async function portOf(server: ChildProcess, logPath: string): Promise<number> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const hasEnded = server.exitCode !== null || server.signalCode !== null;
    const log = await readFile(logPath, 'utf8');
    const port = /"msg":"Waiting for connections","attr":\{"port":(\d+)/.exec(log)?.[1];
    if (port !== undefined) return Number(port);
    if (hasEnded || Date.now() > deadline) {
      const lastLines = log.trim().split('\n').slice(-5).join('\n');
      throw new Error(
        `mongod ${hasEnded ? 'ended immediately' : 'did not start in time'}; its last lines:\n${lastLines}`,
      );
    }
    await sleep(20);
  }
}
