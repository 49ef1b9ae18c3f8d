import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEY, type Paging } from './workloads.ts';

const ROOT = join(import.meta.dirname, '../..');
export const NODE = join(ROOT, 'node_modules/.bin/node');
const START_MS = 20_000;

/** The unit of /proc/PID/stat. */
const TICK_US = 1e6 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

export type Contestant = {
  readonly name: string;
  readonly program: string;
  readonly paging: Paging;
};

export const CONTESTANTS: readonly Contestant[] = [
  { name: 'petstore', program: 'src/main/main.ts', paging: 'cursor' },
  { name: 'raw node:http', program: 'bench/peers/raw.js', paging: 'after' },
  { name: 'Fastify, bare', program: 'bench/peers/fastify-bare.js', paging: 'after' },
  { name: 'Fastify, same features', program: 'bench/peers/fastify-features.js', paging: 'cursor' },
  { name: 'Express', program: 'bench/peers/express.js', paging: 'after' },
];

/** Those that do the same work for a request. */
export const SAME_WORK = ['petstore', 'Fastify, same features'];

export type Running = {
  readonly contestant: Contestant;
  readonly port: number;
  /** From the start of the process to its first answer, in milliseconds. */
  readonly startMs: number;
  /** The CPU time that the process has used, in microseconds. */
  cpuUs(): number;
  /** Resident memory in bytes. */
  residentBytes(): number;
  stop(): Promise<void>;
};

/** Starts the contestant on the first core. Its standard output goes to /dev/null. */
export async function start(contestant: Contestant, databaseUrl: string): Promise<Running> {
  const port = await freePort();
  const started = performance.now();
  const child = spawn('taskset', ['-c', '0', NODE, contestant.program], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      AUTO_MIGRATE: 'true',
      API_KEYS: KEY,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  const isUp = await answers(port, started + START_MS, () => child.exitCode !== null);
  const startMs = performance.now() - started;
  if (!isUp) {
    child.kill('SIGKILL');
    throw new Error(`${contestant.name} has not started on ${databaseUrl.split(':')[0]}`);
  }
  const pid = serverOf(child.pid ?? 0);
  return {
    contestant,
    port,
    startMs,
    cpuUs: () => cpuUs(pid),
    residentBytes: () => residentBytes(pid),
    async stop() {
      child.kill('SIGKILL');
      if (pid !== child.pid) process.kill(pid, 'SIGKILL');
      await ended;
    },
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

/** The process at the end of a chain of launchers. */
function serverOf(pid: number): number {
  const [only = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return only === '' ? pid : serverOf(Number(only));
}

function cpuUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

function residentBytes(pid: number): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
