import cluster from 'node:cluster';
import { isSea } from 'node:sea';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Service } from './start.ts';
import type { Orders } from './worker-messages.ts';
import { forkWorker, type Listening, type WorkerProcess } from './worker-process.ts';
import { WorkerStartError } from './worker-start-error.ts';

/** The pause before a worker is replaced. It doubles with each short life in a row. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

/** A worker that lived this long has not failed at its start. */
const LONG_LIFE_MS = 60_000;

/**
 * Starts the service in `count` worker processes. They share one port: this process accepts the connections and hands
 * them out in turn. A worker that ends is replaced, until the service is stopped.
 *
 * The first worker starts alone. It migrates the storage and makes the key of a first start where that is to be done.
 *
 * @param output receives the lines of the workers' logs, each whole
 * @throws {WorkerStartError} when a worker cannot start. All of them have ended then
 * @throws {InvalidConfig} when it cannot serve metrics
 */
export async function startWorkers(
  config: Config,
  log: Logger,
  output: { write(line: string): void },
): Promise<Service> {
  const pool = new WorkerPool(config.workers, log, (line) => output.write(line));
  try {
    const { url, madeKey } = await pool.start();
    const renewCertificate = async () => pool.signal('SIGHUP');
    const metrics = config.metricsPort === undefined ? undefined : await metricsOfWorkers(config, log);
    const stop = async () => {
      const cutOff = await pool.stop();
      await metrics?.[Symbol.asyncDispose]();
      return cutOff;
    };
    return { url, metricsUrl: metrics?.url, madeKey, renewCertificate, stop };
  } catch (error) {
    await pool.stop();
    throw error;
  }
}

/** This process loads a server only if metrics are on. */
async function metricsOfWorkers(config: Config, log: Logger) {
  const [{ textOfWorkers }, { serveMetrics }] = await Promise.all([
    import('../../adapters/metrics/text-of-workers.ts'),
    import('./serve-metrics.ts'),
  ]);
  return serveMetrics(textOfWorkers(), config, log);
}

class WorkerPool {
  readonly #count: number;
  readonly #log: Logger;
  readonly #writeLine: (line: string) => void;
  readonly #running = new Set<WorkerProcess>();
  readonly #pauses = new Set<NodeJS.Timeout>();
  #stopped: Promise<number> | undefined;
  #orders: Orders = { isFirst: true };

  constructor(count: number, log: Logger, writeLine: (line: string) => void) {
    this.#count = count;
    this.#log = log;
    this.#writeLine = writeLine;
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({ ...programOf(process.argv), stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    process.once('exit', () => {
      this.signal('SIGKILL');
    });
  }

  /** @throws {WorkerStartError} */
  async start(): Promise<Listening> {
    const first = this.#fork();
    const listening = await whenListening(first);
    const { madeKey } = listening;
    this.#orders = { isFirst: false, ...(madeKey && { madeKey }) };
    const others = Array.from({ length: this.#count - 1 }, () => this.#fork());
    await Promise.all(others.map(whenListening));
    for (const worker of [first, ...others]) void this.#keepReplacing(worker);
    return listening;
  }

  signal(signal: Parameters<WorkerProcess['kill']>[0]): void {
    for (const worker of this.#running) worker.kill(signal);
  }

  /** Safe to call again. Resolves with the number of connections that had to be cut off. */
  stop(): Promise<number> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<number> {
    for (const pause of this.#pauses) clearTimeout(pause);
    const running = [...this.#running];
    this.signal('SIGTERM');
    const ends = await Promise.all(running.map(({ ended }) => ended));
    if (ends.some(({ code }) => code !== 0)) process.exitCode = 1;
    return ends.reduce((sum, { cutOff }) => sum + cutOff, 0);
  }

  #fork(): WorkerProcess {
    const worker = forkWorker(this.#orders, { count: this.#count, writeLine: this.#writeLine });
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
      await this.#pause(pauseMs);
      worker = this.#fork();
    }
  }

  /** Never resolves when the service is stopped meanwhile. */
  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#pauses.add(timer);
    await promise;
    this.#pauses.delete(timer);
  }
}

/** @throws {WorkerStartError} when it ends instead */
async function whenListening(worker: WorkerProcess): Promise<Listening> {
  const result = await Promise.race([worker.listening, worker.ended]);
  if ('kind' in result) return result;
  const { problems, code, signal } = result;
  if (problems.length > 0) throw new WorkerStartError(problems);
  throw new WorkerStartError([`a worker ended before it listened (${signal ?? `exit code ${code}`})`]);
}

/** How the workers are started: like this process. */
export function programOf(argv: readonly string[], isExecutable = isSea()): { exec: string; args: string[] } {
  const [, script = '', ...args] = argv;
  if (!isExecutable) return { exec: script, args };
  // A single executable takes all arguments for its own: it is not given a script.
  const [command = 'serve', ...others] = args;
  return { exec: command, args: others };
}
