import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { runAtProcessEnd } from '../../test/support/after-death.ts';
import { cpuUsOf } from '../support/cpu-time.ts';
import { ROOT } from '../support/service.ts';
import { KEY, type Paging } from './workloads.ts';

const START_MS = 20_000;

export type Contestant = {
  readonly name: string;
  readonly program: string;
  /** Whether the program is started by its own name, not as an argument of Node. */
  readonly isCommand?: boolean;
  readonly paging: Paging;
  /** Only on this storage. On all when absent. */
  readonly only?: string;
};

export const OURS = 'petstore';
export const RAW = 'raw node:http';
export const SAME_FEATURES = 'Fastify, same features';

const CONTESTANTS: readonly Contestant[] = [
  { name: OURS, program: 'bin/petstore', isCommand: true, paging: 'cursor' },
  { name: RAW, program: 'bench/peers/raw.js', paging: 'after' },
  { name: SAME_FEATURES, program: 'bench/peers/fastify-features.js', paging: 'cursor' },
  { name: 'Express', program: 'bench/peers/express.js', paging: 'after' },
  { name: 'Koa, bare', program: 'bench/peers/koa-bare.js', paging: 'after', only: 'memory' },
];

export function contestantsOn(store: string): readonly Contestant[] {
  return CONTESTANTS.filter(({ only = store }) => only === store);
}

/**
 * @param url `memory:`, or what the URLs of a storage begin with
 * @param run tells the databases of a contestant apart
 */
export function databaseUrl(url: string, { program }: Contestant, run: number | string): string {
  return url === 'memory:' ? url : `${url}${program.replaceAll(/\W+/g, '_')}_${run}`;
}

export type Running = {
  readonly contestant: Contestant;
  readonly port: number;
  /** From the start of the process to its first answer, in milliseconds. */
  readonly startMs: number;
  /** The CPU time that the process has used, in microseconds. */
  cpuUs(): number;
  /** Resident memory in bytes. */
  residentBytes(): number;
  stop(signal?: NodeJS.Signals): Promise<void>;
};

/** Starts the contestant on the first core. Its standard output goes to /dev/null. */
export async function start(contestant: Contestant, url: string): Promise<Running> {
  const port = await freePort();
  const started = performance.now();
  // taskset becomes the program, so its process id and its channel are the program's.
  const node = contestant.isCommand ? [] : [process.execPath];
  const child = spawn('taskset', ['-c', '0', ...node, contestant.program], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      // Of a slow disk.
      LD_PRELOAD: process.env['LD_PRELOAD'],
      FLUSH_MS: process.env['FLUSH_MS'],
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: url,
      AUTO_MIGRATE: 'true',
      API_KEYS: KEY,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  const ending = runAtProcessEnd(['kill', '-KILL', `${child.pid}`]);
  const stop = async (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    await ended;
    ending.cancel();
  };
  const isUp = await answers(port, started + START_MS, () => child.exitCode !== null);
  const startMs = performance.now() - started;
  if (!isUp) {
    await stop();
    throw new Error(`${contestant.name} has not started on ${url.split(':')[0]}`);
  }
  const pid = child.pid ?? 0;
  return {
    contestant,
    port,
    startMs,
    cpuUs: () => cpuUsOf(pid),
    residentBytes: () => residentBytes(pid),
    stop,
  };
}

async function answers(port: number, deadline: number, isOver: () => boolean): Promise<boolean> {
  while (performance.now() < deadline && !isOver()) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.write('GET /v1/pets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    const isUp = await promise;
    socket.destroy();
    if (isUp) return true;
    await sleep(2);
  }
  return false;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('no free port');
  return address.port;
}

function residentBytes(pid: number): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
