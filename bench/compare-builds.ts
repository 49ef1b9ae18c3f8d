/**
 * What a request costs in two builds of the service: CPU time of the server process, in rounds that take turns. Each
 * round starts both builds anew, because two processes of one build differ by some percent.
 *
 *   node bench/compare-builds.ts BEFORE [AFTER] [--url URL] [--rounds 9] [--only list-20]
 *
 * BEFORE and AFTER are checkouts with their packages installed; AFTER is this one by default. URL is memory:, sqlite:
 * (a new file for each, the default), or mongodb://HOST/ (a new database for each). Linux only: it reads /proc, and
 * pins the services to the first core and itself to the second.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const KEY = 'a-key-for-measuring-builds';
const CONNECTIONS = 16;
const WARM_UP_MS = 1_500;
const ROUND_MS = 1_500;
const PETS = 1_000;
/** The unit of /proc/PID/stat. */
const TICK_US = 1e6 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

const POST = (body: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

const CREATE = POST('{"name":"Rex","categoryId":7}');
const WORKLOADS: Readonly<Record<string, string>> = {
  'list-20': GET('/v1/pets'),
  'list-20 filter': GET('/v1/pets?status=available'),
  get: GET('/v1/pets/500'),
  create: CREATE,
};

type Build = AsyncDisposable & { readonly port: number; readonly pid: number };

async function start(checkout: string, DATABASE_URL: string): Promise<Build> {
  const node = join(checkout, 'node_modules/.bin/node');
  const child = spawn('taskset', ['-c', '0', node, 'src/main/main.ts'], {
    cwd: checkout,
    env: { ...process.env, DATABASE_URL, AUTO_MIGRATE: 'true', API_KEYS: KEY, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const [line] = (await once(lines, 'line')) as [string];
  const { url: at } = JSON.parse(line) as { url: string };
  return {
    port: Number(new URL(at).port),
    // `taskset` and the launcher replace themselves or keep one child.
    pid: await serverOf(child.pid ?? 0),
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** The process at the end of a chain of launchers. */
async function serverOf(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const [only] = children.trim().split(' ');
  return only === undefined || only === '' ? pid : serverOf(Number(only));
}

function databaseUrl(url: string, name: string, keep: string): string {
  if (url === 'sqlite:') return `sqlite:${join(keep, `${name}.db`)}`;
  return url.startsWith('mongodb') ? `${url}bench_${name}_${process.pid}` : url;
}

/** Sends the request again and again on some connections. Resolves with how many were answered with that status. */
async function load(port: number, request: string, until: (done: number) => boolean): Promise<number> {
  let done = 0;
  const expected = request.startsWith('POST') ? 'HTTP/1.1 201 ' : 'HTTP/1.1 200 ';
  const client = async () => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const over = Promise.withResolvers<void>();
    let answer = '';
    socket.on('error', over.reject);
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      const head = answer.indexOf('\r\n\r\n');
      if (head === -1) return;
      const length = Number(/Content-Length: (\d+)/.exec(answer)?.[1]);
      if (answer.length < head + 4 + length) return;
      if (!answer.startsWith(expected)) over.reject(new Error(answer));
      answer = '';
      done++;
      if (until(done)) over.resolve();
      else socket.write(request);
    });
    socket.write(request);
    await over.promise;
    socket.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return done;
}

/** The CPU time that a process has used, in microseconds. */
async function cpuOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

async function measure({ port, pid }: Build, request: string, ms: number): Promise<number> {
  const before = await cpuOf(pid);
  const end = performance.now() + ms;
  const done = await load(port, request, () => performance.now() >= end);
  return ((await cpuOf(pid)) - before) / done;
}

function spread(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.round((sorted.length - 1) * q)]?.toFixed(digits);
  return `${at(0.5)} (${at(0.25)} to ${at(0.75)})`;
}

/** What each workload costs in a process that was started for it. */
async function sample(name: string, checkout: string, keep: string, round: number): Promise<number[]> {
  await using build = await start(checkout, databaseUrl(values.url, `${name}_${round}`, keep));
  await load(build.port, CREATE, (done) => done >= PETS);
  const costs: number[] = [];
  for (const request of wanted.map(([, text]) => text)) {
    await measure(build, request, WARM_UP_MS);
    costs.push(await measure(build, request, ROUND_MS));
  }
  return costs;
}

const { values, positionals } = parseArgs({
  options: {
    url: { type: 'string', default: 'sqlite:' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const [before, after = join(import.meta.dirname, '..')] = positionals;
if (before === undefined) throw new Error('usage: node bench/compare-builds.ts BEFORE [AFTER] [--url URL]');
execFileSync('taskset', ['-pc', '1', String(process.pid)]);
const wanted = Object.entries(WORKLOADS).filter(([name]) => name.includes(values.only));
const keep = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
const samples: { before: number[]; after: number[] }[] = [];
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    const measured = { before: [] as number[], after: [] as number[] };
    // Each goes first as often as the other.
    const order = round % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const);
    for (const name of order)
      measured[name] = await sample(name, resolve({ before, after }[name]), keep, round);
    samples.push(measured);
  }
} finally {
  await rm(keep, { recursive: true });
}
console.log(`CPU of the service a request, ${values.url}, ${values.rounds} rounds: median (quartiles)`);
for (const [index, [name]] of wanted.entries()) {
  const cost = (build: 'before' | 'after') => samples.map((measured) => measured[build][index] ?? NaN);
  const ratios = samples.map((measured) => (measured.after[index] ?? NaN) / (measured.before[index] ?? NaN));
  const columns = `before ${spread(cost('before'), 1)} us, after ${spread(cost('after'), 1)} us`;
  console.log(`${name.padEnd(15)} ${columns}, after/before ${spread(ratios, 3)}`);
}
