import cluster from 'node:cluster';
import { isSea } from 'node:sea';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { TlsPair } from '../../adapters/http/server/create-limited-server.ts';
import type { Service, ServiceConfig } from './start.ts';
import { forkWorker, type Listening, type Orders, type WorkerProcess } from './worker-process.ts';
import { StartError } from '../config/config.ts';

/** The pause before a worker is replaced. It doubles with each short life in a row. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

/** A worker that lived this long has not failed at its start. */
const LONG_LIFE_MS = 60_000;

/** How long a scrape waits for what the workers have measured. */
const MEASURE_MS = 700;

const PING_INTERVAL_MS = 1_000;

/**
 * Starts the service in `count` worker processes. They share one port: this process accepts the connections and hands
 * them out in turn. A worker that ends or hangs is replaced, until the service is stopped.
 *
 * The first worker starts alone. It migrates the storage and makes the key of a first start where that is to be done.
 *
 * @param env the variables of `config`
 * @param output receives the lines of the workers' logs, each whole
 * @throws {StartError} when a worker cannot start, and when it cannot serve metrics. All workers have ended then
 */
export async function startWorkers(
  config: ServiceConfig,
  log: Logger,
  { env, output }: { readonly env: Orders['env']; readonly output: { write(line: string): void } },
): Promise<Service> {
  const { workers, tls } = config;
  // The number of cores may have changed when a worker is replaced.
  const orders = { kind: 'orders', env: { ...env, WORKERS: `${workers}` }, tls, isFirst: true } as const;
  const pool = new WorkerPool(orders, log, (line) => output.write(line));
  try {
    const { url, madeKey } = await pool.start(workers);
    const metrics = config.metricsPort === undefined ? undefined : await metricsOfWorkers(pool, config, log);
    const stop = async () => {
      const cutOff = await pool.stop();
      await metrics?.[Symbol.asyncDispose]();
      return cutOff;
    };
    const useCertificate = (pair: TlsPair) => pool.useCertificate(pair);
    return { url, metricsUrl: metrics?.url, madeKey, useCertificate, stop };
  } catch (error) {
    await pool.stop();
    throw error;
  }
}

/** This process loads a server only if metrics are on. */
async function metricsOfWorkers(pool: WorkerPool, config: ServiceConfig, log: Logger) {
  const { textOfWorkers } = await import('../../adapters/metrics/create-metrics.ts');
  const { serveMetrics } = await import('./serve-metrics.ts');
  return serveMetrics(async () => textOfWorkers(await pool.measure()), config, log);
}

class WorkerPool {
  readonly #log: Logger;
  readonly #writeLine: (line: string) => void;
  readonly #running = new Set<WorkerProcess>();
  readonly #pinging: NodeJS.Timeout;
  #stopped: Promise<number> | undefined;
  #orders: Orders;

  constructor(orders: Orders, log: Logger, writeLine: (line: string) => void) {
    this.#orders = orders;
    this.#log = log;
    this.#writeLine = writeLine;
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // A single executable takes all arguments for its own: it is not given a script.
    const program = isSea()
      ? { exec: 'serve', args: [], execArgv: [] }
      : { exec: process.argv[1]!, args: ['serve'] };
    cluster.setupPrimary({ ...program, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    process.once('exit', () => this.signal('SIGKILL'));
    // Also keeps this process alive while no worker runs.
    this.#pinging = setInterval(() => {
      for (const { ping } of this.#running) ping();
    }, PING_INTERVAL_MS);
  }

  /** @throws {StartError} */
  async start(count: number): Promise<Listening> {
    const first = this.#fork();
    const listening = await whenListening(first);
    const { madeKey } = listening;
    this.#orders = { ...this.#orders, isFirst: false, madeKey };
    const others = Array.from({ length: count - 1 }, () => this.#fork());
    await Promise.all(others.map(whenListening));
    for (const worker of [first, ...others]) void this.#keepReplacing(worker);
    return listening;
  }

  useCertificate(tls: TlsPair): void {
    this.#orders = { ...this.#orders, tls };
    for (const { send } of this.#running) send(this.#orders);
  }

  /** What each worker has measured, by its number. `undefined` if it does not say in time. */
  measure() {
    const late = sleep(MEASURE_MS, undefined, { ref: false });
    return Promise.all(Array.from(this.#running, ({ measure }) => measure(late)));
  }

  signal(signal: Parameters<WorkerProcess['kill']>[0]): void {
    for (const worker of this.#running) worker.kill(signal);
  }

  /** Safe to call again. Resolves with the number of connections that had to be cut off. */
  stop(): Promise<number> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<number> {
    const running = [...this.#running];
    this.signal('SIGTERM');
    const ends = await Promise.all(running.map(({ ended }) => ended));
    clearInterval(this.#pinging);
    // SIGTERM kills a worker only while Node itself starts, before any listener.
    if (ends.some(({ code, signal }) => code !== 0 && signal !== 'SIGTERM')) process.exitCode = 1;
    return ends.reduce((sum, { cutOff }) => sum + cutOff, 0);
  }

  #fork(): WorkerProcess {
    const worker = forkWorker(() => this.#orders, this.#writeLine);
    this.#running.add(worker);
    void worker.ended.then(() => this.#running.delete(worker));
    const { id, pid } = worker;
    void worker.listening.then(() => this.#log.info({ worker: id, pid }, 'a worker listens'));
    return worker;
  }

  async #keepReplacing(first: WorkerProcess): Promise<void> {
    let worker = first;
    let shortLives = 0;
    for (;;) {
      const { livedMs, problems, code, signal } = await worker.ended;
      if (this.#stopped !== undefined) return;
      shortLives = livedMs < LONG_LIFE_MS ? shortLives + 1 : 1;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (shortLives - 1), LONGEST_PAUSE_MS);
      const { id, pid } = worker;
      const why = problems.length > 0 ? { problems } : { code, signal };
      this.#log.error({ worker: id, pid, ...why, pauseMs }, 'a worker has ended; another one follows');
      await sleep(pauseMs, undefined, { ref: false });
      if (this.#stopped !== undefined) return;
      worker = this.#fork();
    }
  }
}

/** @throws {StartError} when it ends instead */
async function whenListening(worker: WorkerProcess): Promise<Listening> {
  const result = await Promise.race([worker.listening, worker.ended]);
  if ('kind' in result) return result;
  const { problems, code, signal } = result;
  if (problems.length > 0) throw new StartError(problems);
  throw new StartError([`a worker ended before it listened (${signal ?? `exit code ${code}`})`]);
}
