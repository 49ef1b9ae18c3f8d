/**
 * The cost of clients that pipeline requests and never read: 1,000 connections of them, beside one well-behaved client.
 * The bars: resident memory at most 150 MiB above idle, and 99 % of its answers within 100 ms. The exit code is 1 when a
 * bar is missed. The service holds 200 pets with the longest names in memory. Linux only, with 12,000 descriptors.
 *
 *   node bench/unread-pipelines.ts [KIND] [SECONDS]       all kinds in sequence, 15 s each, by default
 *   TEST_TLS=true node bench/unread-pipelines.ts ...      over TLS
 *
 *   lists      199 requests for a page of 100 pets on each connection
 *   storm      the same, sent while other connections are still being opened
 *   minimal    199 requests to /livez
 *   creates    199 requests that add a pet
 *   page       one request for a page of 100 pets
 *   idle       no request on 9,900 connections; no bar for the memory
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { PEM_FILES, ROOT_CERT, SPEAKS_TLS } from '../test/support/tls/pem-files.ts';
import { ask, getRequest, postRequest } from './support/http.ts';
import { startService } from './support/service.ts';
import { quantile } from './support/statistics.ts';

const MIB = 1024 * 1024;
const MEMORY_BAR_MIB = 150;
const LATENCY_BAR_MS = 100;

const CONNECTIONS = 1000;
/** The limit of the service has room for the well-behaved client. */
const IDLE_CONNECTIONS = 9900;
const PIPELINED = 199;
const KEY = 'a-key-of-this-bench';
const TLS_ENV: Record<string, string> = SPEAKS_TLS
  ? { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key }
  : {};
const LONG_NAME = '🐕'.repeat(255);

const LIST = getRequest('/v1/pets?limit=100', KEY);
const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

const KINDS = {
  lists: { text: LIST.repeat(PIPELINED), openFirst: true },
  storm: { text: LIST.repeat(PIPELINED), openFirst: false },
  minimal: { text: LIVEZ.repeat(PIPELINED), openFirst: true },
  creates: { text: postRequest('{"name":"Rex","categoryId":7}', KEY).repeat(PIPELINED), openFirst: true },
  page: { text: LIST, openFirst: true },
  idle: { text: '', openFirst: true },
} as const;

type Kind = keyof typeof KINDS;

type Attack = { readonly port: number; readonly kind: Kind };

function dial(port: number): Socket {
  const to = { host: '127.0.0.1', port, noDelay: true };
  return SPEAKS_TLS ? connectTls({ ...to, ca: ROOT_CERT }) : connect(to);
}

/** Runs in a separate thread, where it does not delay the well-behaved client. Posts "sent" when all is written. */
async function attack({ port, kind }: Attack): Promise<void> {
  const { text, openFirst } = KINDS[kind];
  const bytes = Buffer.from(text);
  const all: Socket[] = [];
  const count = kind === 'idle' ? IDLE_CONNECTIONS : CONNECTIONS;
  for (let index = 0; index < count; index++) {
    const socket = dial(port);
    // The service may cut it off.
    socket.on('error', () => {});
    socket.pause();
    if (openFirst) await once(socket, SPEAKS_TLS ? 'secureConnect' : 'connect');
    else socket.write(bytes);
    all.push(socket);
  }
  if (openFirst) for (const socket of all) socket.write(bytes);
  parentPort?.postMessage('sent', []);
}

/** The well-behaved client: asks on one connection and, every tenth time, on a new one. Resolves with its latencies. */
async function askRepeatedly(port: number, until: () => boolean): Promise<number[]> {
  const latencies: number[] = [];
  const kept = dial(port);
  const list = getRequest('/v1/pets', KEY);
  for (let count = 0; !until(); count++) {
    latencies.push(await ask(kept, list, 200));
    if (count % 10 === 0) {
      const fresh = dial(port);
      latencies.push(await ask(fresh, LIVEZ, 200));
      fresh.destroy();
    }
    await sleep(10);
  }
  kept.destroy();
  return latencies;
}

function residentMib(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number(kib) * 1024) / MIB;
}

async function measure(kind: Kind, seconds: number, logFile: string): Promise<boolean> {
  const env = { DATABASE_URL: 'memory:', API_KEYS: KEY, ...TLS_ENV };
  await using service = await startService(env, { logFile });
  const { pid, port } = service;
  await fillAndWarmUp(port);
  await sleep(1_000);
  const idleMib = residentMib(pid);
  let peakMib = idleMib;
  const watch = setInterval(() => (peakMib = Math.max(peakMib, residentMib(pid))), 20);
  let stopping = false;
  const asking = askRepeatedly(port, () => stopping);
  const attacker = new Worker(import.meta.filename, { workerData: { port, kind } satisfies Attack });
  await once(attacker, 'message');
  await sleep(seconds * 1000);
  stopping = true;
  const latencies = await asking;
  clearInterval(watch);
  const lastMib = residentMib(pid);
  await attacker.terminate();
  const p99Ms = quantile(latencies, 0.99);
  const isLight = kind === 'idle' || peakMib - idleMib <= MEMORY_BAR_MIB;
  const kept = isLight && p99Ms <= LATENCY_BAR_MS;
  console.log(
    `${kind}: idle ${idleMib.toFixed(0)} MiB, at most ${(peakMib - idleMib).toFixed(0)} above it ` +
      `(bar ${MEMORY_BAR_MIB}), ${(lastMib - idleMib).toFixed(0)} at the end; ` +
      `${latencies.length} answers to the other client: p50 ${quantile(latencies, 0.5).toFixed(1)} ms, ` +
      `p99 ${p99Ms.toFixed(1)} ms (bar ${LATENCY_BAR_MS}), slowest ${quantile(latencies, 1).toFixed(1)} ms: ` +
      (kept ? 'kept' : 'MISSED'),
  );
  for (const line of (await readFile(logFile, 'utf8')).split('\n')) {
    if (line.startsWith('{"level":40')) console.log(`  ${line}`);
  }
  return kept;
}

async function fillAndWarmUp(port: number): Promise<void> {
  const socket = dial(port);
  const create = postRequest(`{"name":"${LONG_NAME}","categoryId":7}`, KEY);
  for (let i = 0; i < 200; i++) await ask(socket, create, 201);
  for (let i = 0; i < 200; i++) await ask(socket, LIST, 200);
  socket.destroy();
}

if (isMainThread) {
  const [kind, seconds = '15'] = process.argv.slice(2);
  const all = Object.keys(KINDS) as Kind[];
  const kinds = kind === undefined ? all : all.filter((name) => name === kind);
  if (kinds.length === 0) throw new Error(`KIND must be one of ${all.join(', ')}`);
  await using directory = await temporaryDirectory('bench');
  for (const each of kinds) {
    if (!(await measure(each, Number(seconds), join(directory.path, 'log')))) process.exitCode = 1;
  }
} else {
  await attack(workerData as Attack);
}
