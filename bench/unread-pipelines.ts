/**
 * What clients cost that pipeline and never read: 1,000 connections of them, while another client is served. The bars:
 * resident memory at most 150 MiB above idle, and every answer to the other client within 100 ms. Exit code 1 if one of
 * them is missed. The pets are kept in memory: 200 of them, with the longest names. Linux only.
 *
 *   node bench/unread-pipelines.ts [KIND] [SECONDS]       all kinds one after the other, 15 s each, by default
 *
 *   lists      199 requests for a page of 100 pets on each connection
 *   storm      the same, on connections that send while the others are still being opened
 *   minimal    199 requests to /livez
 *   creates    199 requests that add a pet
 *   page       one request for a page of 100 pets
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const MAIN = join(import.meta.dirname, '../src/main/main.ts');
const MIB = 1024 * 1024;
const MEMORY_BAR_MIB = 150;
const LATENCY_BAR_MS = 100;

const CONNECTIONS = 1000;
const PIPELINED = 199;
const KEY = 'a-key-of-this-bench';
const LONG_NAME = '🐕'.repeat(255);

const HEAD = `Host: 127.0.0.1\r\nAuthorization: Bearer ${KEY}\r\n`;
const LIST = `GET /v1/pets?limit=100 HTTP/1.1\r\n${HEAD}\r\n`;
const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

const KINDS = {
  lists: { text: LIST.repeat(PIPELINED), openFirst: true },
  storm: { text: LIST.repeat(PIPELINED), openFirst: false },
  minimal: { text: LIVEZ.repeat(PIPELINED), openFirst: true },
  creates: { text: create('{"name":"Rex","categoryId":7}').repeat(PIPELINED), openFirst: true },
  page: { text: LIST, openFirst: true },
} as const;

type Kind = keyof typeof KINDS;

function create(body: string): string {
  const length = Buffer.byteLength(body);
  return `POST /v1/pets HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

type Attack = { readonly port: number; readonly kind: Kind };

/** In a thread of its own: the other client must not wait for it. Says "sent" when everything is written. */
async function attack({ port, kind }: Attack): Promise<void> {
  const { text, openFirst } = KINDS[kind];
  const bytes = Buffer.from(text);
  const all: Socket[] = [];
  for (let index = 0; index < CONNECTIONS; index++) {
    const socket = connect({ host: '127.0.0.1', port });
    // That it is cut off is allowed.
    socket.on('error', () => {});
    socket.pause();
    if (openFirst) await once(socket, 'connect');
    else socket.write(bytes);
    all.push(socket);
  }
  if (openFirst) for (const socket of all) socket.write(bytes);
  parentPort?.postMessage('sent', []);
}

/** One request on the connection; how long its answer took, in milliseconds. */
async function ask(socket: Socket, text: string): Promise<number> {
  const asked = performance.now();
  let answer = '';
  socket.write(text);
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    answer += chunk.toString('latin1');
    const head = answer.indexOf('\r\n\r\n');
    const length = /Content-Length: (\d+)/.exec(answer)?.[1];
    if (head === -1 || answer.length < head + 4 + Number(length)) continue;
    if (!answer.startsWith('HTTP/1.1 20')) throw new Error(answer);
    return performance.now() - asked;
  }
}

function dial(port: number): Socket {
  return connect({ host: '127.0.0.1', port, noDelay: true });
}

/** Asks over a connection that is kept and, every tenth time, over a new one. */
async function serve(port: number, until: () => boolean): Promise<number[]> {
  const latencies: number[] = [];
  const kept = dial(port);
  const list = `GET /v1/pets HTTP/1.1\r\n${HEAD}\r\n`;
  for (let count = 0; !until(); count++) {
    latencies.push(await ask(kept, list));
    if (count % 10 === 0) {
      const fresh = dial(port);
      latencies.push(await ask(fresh, LIVEZ));
      fresh.destroy();
    }
    await sleep(10);
  }
  kept.destroy();
  return latencies.toSorted((a, b) => a - b);
}

function residentMib(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number(kib) * 1024) / MIB;
}

/** With its log in a file: nothing of the measurement may wait for it to be read. */
async function startService(logFile: string) {
  const env = { ...process.env, DATABASE_URL: 'memory:', PORT: '0', API_KEYS: KEY };
  const log = await open(logFile, 'w');
  const service = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', log.fd, 'inherit'] });
  await log.close();
  let url: string | undefined;
  while (url === undefined) {
    await sleep(50);
    if (service.exitCode !== null) throw new Error('the service has ended');
    url = /"url":"([^"]+)"/.exec(await readFile(logFile, 'utf8'))?.[1];
  }
  return { pid: service.pid!, port: Number(new URL(url).port), service };
}

async function measure(kind: Kind, seconds: number, logFile: string): Promise<boolean> {
  const { pid, port, service } = await startService(logFile);
  try {
    const socket = dial(port);
    for (let i = 0; i < 200; i++) await ask(socket, create(`{"name":"${LONG_NAME}","categoryId":7}`));
    for (let i = 0; i < 200; i++) await ask(socket, LIST);
    socket.destroy();
    await sleep(1_000);
    const idle = residentMib(pid);
    let peak = idle;
    const watch = setInterval(() => (peak = Math.max(peak, residentMib(pid))), 20);
    let over = false;
    const other = serve(port, () => over);
    const attacker = new Worker(import.meta.filename, { workerData: { port, kind } satisfies Attack });
    await once(attacker, 'message');
    await sleep(seconds * 1000);
    over = true;
    const latencies = await other;
    clearInterval(watch);
    const last = residentMib(pid);
    await attacker.terminate();
    const quantile = (q: number) => latencies[Math.round((latencies.length - 1) * q)] ?? NaN;
    const [p50, p99, most] = [0.5, 0.99, 1].map(quantile) as [number, number, number];
    const kept = peak - idle <= MEMORY_BAR_MIB && most <= LATENCY_BAR_MS;
    console.log(
      `${kind}: idle ${idle.toFixed(0)} MiB, at most ${(peak - idle).toFixed(0)} above it (bar ${MEMORY_BAR_MIB}), ` +
        `${(last - idle).toFixed(0)} at the end; ${latencies.length} answers to the other client: ` +
        `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, most ${most.toFixed(1)} ms (bar ${LATENCY_BAR_MS}): ` +
        (kept ? 'kept' : 'MISSED'),
    );
    for (const line of (await readFile(logFile, 'utf8')).split('\n')) {
      if (line.startsWith('{"level":40')) console.log(`  ${line}`);
    }
    return kept;
  } finally {
    service.kill('SIGKILL');
    await once(service, 'exit');
  }
}

if (isMainThread) {
  const [kind, seconds = '15'] = process.argv.slice(2);
  const all = Object.keys(KINDS) as Kind[];
  const kinds = kind === undefined ? all : all.filter((name) => name === kind);
  if (kinds.length === 0) throw new Error(`KIND must be one of ${all.join(', ')}`);
  const directory = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
  try {
    for (const each of kinds) {
      if (!(await measure(each, Number(seconds), join(directory, 'log')))) process.exitCode = 1;
    }
  } finally {
    await rm(directory, { recursive: true });
  }
} else {
  await attack(workerData as Attack);
}
