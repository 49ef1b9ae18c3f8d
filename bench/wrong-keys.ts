/**
 * Whether wrong keys slow down requests with a right key. A service answers requests for a page, alone and beside
 * 100,000 requests per minute with wrong keys. A wrong key has the form of a key and a right checksum: it needs a lookup.
 * Rounds alternate. Each has a part at a steady rate, and one as fast as 8 connections can be.
 *
 *   node bench/wrong-keys.ts [ROUNDS] [DATABASE_URL]       7 rounds of 12 s and a new SQLite file by default
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mintKey } from '../src/adapters/tokens/token.ts';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { ask, dial, getRequest } from './support/http.ts';
import { ROOT, startService } from './support/service.ts';
import { quantile, summary } from './support/statistics.ts';

const PHASE_MS = 3_000;
const WRONG_PER_SECOND = 100_000 / 60;
const RIGHT_PER_SECOND = 300;
const CONNECTIONS = 8;

const WRONG = Array.from({ length: 20_000 }, () => mintKey().token);
let next = 0;

/** A pool of connections with one request in flight on each. */
class Client {
  readonly #port: number;
  readonly #idle: Socket[] = [];
  readonly #waiting: ((socket: Socket) => void)[] = [];
  readonly #all: Socket[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  /** The latency of a request in milliseconds, the wait for a free connection included. */
  async ask(key: string, expectedStatus: number): Promise<number> {
    const asked = performance.now();
    const socket = this.#idle.pop() ?? (await this.#another());
    await ask(socket, getRequest('/v1/pets', key), expectedStatus);
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#idle.push(socket);
    else waiting(socket);
    return performance.now() - asked;
  }

  close(): void {
    for (const socket of this.#all) socket.destroy();
  }

  async #another(): Promise<Socket> {
    if (this.#all.length === CONNECTIONS) {
      const { promise, resolve } = Promise.withResolvers<Socket>();
      this.#waiting.push(resolve);
      return promise;
    }
    const socket = dial(this.#port);
    this.#all.push(socket);
    await once(socket, 'connect');
    return socket;
  }
}

/** Sends at a steady rate, without waiting for answers. Resolves with the number of requests. */
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

/** Sends wrong keys. Resolves with their number. */
async function flood(port: number, ms: number): Promise<number> {
  const client = new Client(port);
  const sent = await atRate(WRONG_PER_SECOND, ms, () => client.ask(WRONG[next++ % WRONG.length]!, 401));
  client.close();
  return sent;
}

type Figures = { readonly p50Ms: number; readonly p99Ms: number; readonly perSecond: number };

/** Sends right keys: at a steady rate, then as fast as possible. */
async function right(port: number, key: string): Promise<Figures> {
  const client = new Client(port);
  const latencies: number[] = [];
  await atRate(RIGHT_PER_SECOND, PHASE_MS, async () => latencies.push(await client.ask(key, 200)));
  const end = performance.now() + PHASE_MS;
  let answers = 0;
  const caller = async () => {
    for (; performance.now() < end; answers++) await client.ask(key, 200);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, caller));
  client.close();
  return {
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    perSecond: (answers * 1000) / PHASE_MS,
  };
}

function shown({ p50Ms, p99Ms, perSecond }: Figures): string {
  return `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, at most ${Math.round(perSecond)}/s`;
}

function ratio(pairs: readonly (readonly [Figures, Figures])[], figure: keyof Figures): string {
  return summary(
    pairs.map(([alone, flooded]) => flooded[figure] / alone[figure]),
    2,
  );
}

async function main(rounds: number, DATABASE_URL: string): Promise<void> {
  const created = await promisify(execFile)(
    process.execPath,
    [join(ROOT, 'bin/petstore.js'), 'keys', 'create', '--label', 'bench', '--expires', '1d'],
    { env: { ...process.env, DATABASE_URL } },
  );
  const key = created.stdout.trim();
  await using service = await startService({ DATABASE_URL });
  const { port } = service;
  await right(port, key);
  const pairs: [Figures, Figures][] = [];
  for (let round = 1; round <= rounds; round++) {
    const alone = await right(port, key);
    const sending = flood(port, 2 * PHASE_MS);
    const flooded = await right(port, key);
    const count = await sending;
    pairs.push([alone, flooded]);
    console.log(`round ${round}: alone ${shown(alone)}; beside ${count} wrong keys ${shown(flooded)}`);
  }
  console.log(`beside wrong keys, as a multiple of alone: p50 ${ratio(pairs, 'p50Ms')},`);
  console.log(`  p99 ${ratio(pairs, 'p99Ms')}, requests/s at most ${ratio(pairs, 'perSecond')}`);
}

const [rounds = '7', url] = process.argv.slice(2);
await using directory = await temporaryDirectory('bench');
await main(Number(rounds), url ?? `sqlite:${directory.path}/petstore.db`);
