/**
 * Whether wrong keys slow the right ones down: a service is asked for a page with a right key, a part of the time while
 * 100,000 requests a minute come with wrong keys. Those have the form of a key and a right checksum, so that each has to
 * be looked up. Rounds with and without them take turns, first at a steady rate, then as fast as 8 connections can.
 *
 *   node bench/wrong-keys.ts [ROUNDS] [DATABASE_URL]       7 by default, 12 s each; a new SQLite file by default
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { mintKey } from '../src/adapters/tokens/token.ts';

const MAIN = join(import.meta.dirname, '../src/main/main.ts');
const PHASE_MS = 3_000;
const WRONG_PER_SECOND = 100_000 / 60;
const RIGHT_PER_SECOND = 300;
const CONNECTIONS = 8;

const WRONG = Array.from({ length: 20_000 }, () => mintKey().token);
let next = 0;

/** Connections that are kept, each for one request at a time; who comes when none is free waits. */
class Client {
  readonly #port: number;
  readonly #idle: Socket[] = [];
  readonly #waiting: ((socket: Socket) => void)[] = [];
  readonly #all: Socket[] = [];

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  /** One request; how long it took, in milliseconds. */
  async ask(key: string, expected: number): Promise<number> {
    const asked = performance.now();
    const socket = this.#idle.pop() ?? (await this.#another());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let answer = '';
    const take = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      const head = answer.indexOf('\r\n\r\n');
      const length = /Content-Length: (\d+)/.exec(answer)?.[1];
      if (head === -1 || answer.length < head + 4 + Number(length)) return;
      socket.off('data', take);
      if (answer.startsWith(`HTTP/1.1 ${expected} `)) resolve();
      else reject(new Error(answer));
    };
    socket.on('data', take);
    socket.write(
      `GET /v1/pets HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    await promise;
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
    const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true });
    this.#all.push(socket);
    await once(socket, 'connect');
    return socket;
  }
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

/** Wrong keys, at that rate for so many milliseconds. Resolves with how many. */
async function flood(url: string, ms: number): Promise<number> {
  const client = new Client(url);
  const sent = await atRate(WRONG_PER_SECOND, ms, () => client.ask(WRONG[next++ % WRONG.length]!, 401));
  client.close();
  return sent;
}

type Figures = { readonly p50: number; readonly p99: number; readonly most: number };

async function right(url: string, key: string): Promise<Figures> {
  const client = new Client(url);
  const latencies: number[] = [];
  await atRate(RIGHT_PER_SECOND, PHASE_MS, async () => latencies.push(await client.ask(key, 200)));
  latencies.sort((a, b) => a - b);
  const end = performance.now() + PHASE_MS;
  let most = 0;
  const caller = async () => {
    for (; performance.now() < end; most++) await client.ask(key, 200);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, caller));
  client.close();
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
  try {
    await right(service.url, key);
    const pairs: [Figures, Figures][] = [];
    for (let round = 1; round <= rounds; round++) {
      const quiet = await right(service.url, key);
      const sent = flood(service.url, 2 * PHASE_MS);
      const flooded = await right(service.url, key);
      const count = await sent;
      pairs.push([quiet, flooded]);
      console.log(`round ${round}: alone ${shown(quiet)}; beside ${count} wrong keys ${shown(flooded)}`);
    }
    console.log(`beside wrong keys, of what it is without them: p50 ${ratio(pairs, 'p50')},`);
    console.log(`  p99 ${ratio(pairs, 'p99')}, requests/s at most ${ratio(pairs, 'most')}`);
  } finally {
    await service.stop();
  }
}

const [rounds = '7', url] = process.argv.slice(2);
const directory = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
try {
  await main(Number(rounds), url ?? `sqlite:${directory}/petstore.db`);
} finally {
  await rm(directory, { recursive: true });
}
