/**
 * Whether wrong keys slow the right ones down: a service is asked for a page with a right key, a part of the time while
 * 100,000 requests a minute come with wrong keys. Those have the form of a key and a right checksum, so that each has to
 * be looked up. Rounds with and without them take turns, at a steady rate of right requests and at as many as 16
 * connections can send. Right and wrong requests are sent by two processes.
 *
 *   node bench/wrong-keys.ts [ROUNDS] [DATABASE_URL]       7 by default, 12 s each; a new SQLite file by default
 */
import { execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { mintKey } from '../src/adapters/tokens/token.ts';

const MAIN = join(import.meta.dirname, '../src/main/main.ts');
const PHASE_MS = 3_000;
const WRONG_PER_SECOND = 100_000 / 60;
const RIGHT_PER_SECOND = 300;
const CONNECTIONS = 16;

/** One request; how long it took, in milliseconds. */
async function ask(agent: Agent, url: string, key: string, expected: number): Promise<number> {
  const sent = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  get(`${url}/v1/pets`, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
    response.resume().once('end', resolve).once('error', reject);
    if (response.statusCode !== expected) reject(new Error(`${response.statusCode}, not ${expected}`));
  }).once('error', reject);
  await promise;
  return performance.now() - sent;
}

/** Sends at a steady rate, whatever becomes of the answers. */
async function atRate(perSecond: number, ms: number, send: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const answers: Promise<unknown>[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setInterval(() => {
    const elapsed = performance.now() - began;
    while (answers.length < (perSecond * Math.min(elapsed, ms)) / 1000) answers.push(send());
    if (elapsed >= ms) resolve();
  }, 1);
  await promise;
  clearInterval(timer);
  await Promise.all(answers);
  return answers.length;
}

/** As a process of its own: wrong keys, for as long as it is told to. */
function flood(url: string): void {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const wrong = Array.from({ length: 20_000 }, () => mintKey().token);
  let next = 0;
  process.on('message', async (ms: number) => {
    const sent = await atRate(WRONG_PER_SECOND, ms, () =>
      ask(agent, url, wrong[next++ % wrong.length]!, 401),
    );
    process.send?.(sent);
  });
}

type Figures = { readonly p50: number; readonly p99: number; readonly most: number };

async function right(url: string, key: string): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const latencies: number[] = [];
  await atRate(RIGHT_PER_SECOND, PHASE_MS, async () => latencies.push(await ask(agent, url, key, 200)));
  latencies.sort((a, b) => a - b);
  const end = performance.now() + PHASE_MS;
  let most = 0;
  const caller = async () => {
    for (; performance.now() < end; most++) await ask(agent, url, key, 200);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, caller));
  agent.destroy();
  const quantile = (q: number) => latencies[Math.floor(latencies.length * q)] ?? 0;
  return { p50: quantile(0.5), p99: quantile(0.99), most: (most * 1000) / PHASE_MS };
}

function shown({ p50, p99, most }: Figures): string {
  return `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, at most ${Math.round(most)}/s`;
}

function ratio(of: readonly [Figures, Figures][], figure: keyof Figures): string {
  const ratios = of.map(([quiet, flooded]) => flooded[figure] / quiet[figure]).toSorted((a, b) => a - b);
  const [least, median, most] = [0, 0.5, 1].map((q) =>
    ratios[Math.round((ratios.length - 1) * q)]?.toFixed(2),
  );
  return `${median} (${least} to ${most})`;
}

async function startService(env: NodeJS.ProcessEnv): Promise<{ url: string; stop(): Promise<void> }> {
  const service = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(service.stdout);
  const [line] = (await once(lines, 'line')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return {
    url,
    async stop() {
      service.kill();
      await once(service, 'exit');
    },
  };
}

async function main(rounds: number, DATABASE_URL: string): Promise<void> {
  const env = { ...process.env, DATABASE_URL, PORT: '0' };
  const created = await promisify(execFile)(
    process.execPath,
    [MAIN, 'keys', 'create', '--label', 'bench', '--expires', '1d'],
    { env },
  );
  const key = created.stdout.trim();
  const service = await startService(env);
  const wrong = fork(import.meta.filename, ['flood', service.url]);
  try {
    await right(service.url, key);
    const pairs: [Figures, Figures][] = [];
    for (let round = 1; round <= rounds; round++) {
      const quiet = await right(service.url, key);
      const sent = once(wrong, 'message');
      wrong.send(2 * PHASE_MS);
      const flooded = await right(service.url, key);
      const [count] = (await sent) as [number];
      pairs.push([quiet, flooded]);
      console.log(`round ${round}: alone ${shown(quiet)}; beside ${count} wrong keys ${shown(flooded)}`);
    }
    console.log(`beside wrong keys, of what it is without them: p50 ${ratio(pairs, 'p50')},`);
    console.log(`  p99 ${ratio(pairs, 'p99')}, requests/s at most ${ratio(pairs, 'most')}`);
  } finally {
    wrong.disconnect();
    await service.stop();
  }
}

const [first, second] = process.argv.slice(2);
if (first === 'flood') flood(second!);
else {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
  try {
    await main(Number(first ?? 7), second ?? `sqlite:${directory}/petstore.db`);
  } finally {
    await rm(directory, { recursive: true });
  }
}
