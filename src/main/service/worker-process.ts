import cluster from 'node:cluster';
import type { Readable } from 'node:stream';
import type { TlsPair } from '../../adapters/http/server/create-limited-server.ts';
import type { Series } from '../../adapters/metrics/create-metrics.ts';
import type { MadeKey } from './start-keys.ts';

/** How many pings in a row a worker may leave unanswered. There is one each second. */
const MAX_UNANSWERED = 10;

export type Listening = Extract<Report, { kind: 'listening' }>;

/** How a worker ended. */
type WorkerEnd = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not start, or why it was killed here, each problem as one printable text. Otherwise empty. */
  readonly problems: readonly string[];
  /** How many connections it cut off. */
  readonly cutOff: number;
  /** From the fork, in milliseconds. */
  readonly livedMs: number;
};

/** A worker, seen from the primary process. */
export type WorkerProcess = ReturnType<typeof forkWorker>;

/**
 * Forks a worker.
 *
 * @param orders the latest
 * @param writeLine receives each line of its log
 */
export function forkWorker(orders: () => Orders, writeLine: (line: string) => void) {
  const forkedMs = performance.now();
  // The worker knows by it that it is one. Everything else is in its orders.
  const worker = cluster.fork({ WORKERS: orders().env['WORKERS'] });
  const listening = Promise.withResolvers<Listening>();
  let problems: readonly string[] = [];
  let cutOff = 0;
  let measured = Promise.withResolvers<Series>();
  let unanswered = -Infinity;
  const send = (order: Order) => {
    // Its end is seen elsewhere.
    if (worker.isConnected()) worker.send(order, () => {});
  };
  worker.on('message', (report: Report) => {
    unanswered = 0;
    // Again when it listens: the certificate may have been renewed during its start.
    if (report.kind === 'ready' || report.kind === 'listening') send(orders());
    if (report.kind === 'listening') listening.resolve(report);
    else if (report.kind === 'measured') {
      measured.resolve(report.series);
      measured = Promise.withResolvers();
    } else if (report.kind === 'failed') problems = report.problems;
    else if (report.kind === 'stopped') {
      cutOff = report.cutOff;
      // It has handed back the connections that it was offered too late.
      worker.disconnect();
    }
  });
  // It was not forked. The event 'close' follows.
  worker.on('error', (error: Error) => (problems = [`a worker process fails: ${error.message}`]));
  const { stdout } = worker.process;
  if (stdout !== null) forwardLines(stdout, writeLine);
  const ended = Promise.withResolvers<WorkerEnd>();
  worker.process.on('close', (code, signal) =>
    ended.resolve({ code, signal, problems, cutOff, livedMs: performance.now() - forkedMs }),
  );
  return {
    id: worker.id,
    pid: worker.process.pid,
    /** Resolves when it accepts requests. */
    listening: listening.promise,
    /** Resolves when it has ended and its last line is written. */
    ended: ended.promise,
    /** Sends an order, unless it has ended. */
    send,
    /** Resolves with its number and what it has measured, or `undefined` when `late` resolves first. */
    measure: async (late: Promise<undefined>) => {
      send({ kind: 'measure' });
      return [worker.id, await Promise.race([measured.promise, late])] as const;
    },
    /** Kills it if it has left too many pings unanswered since it took orders. */
    ping: () => {
      // Counts pings, not time: a pause of this process or of the machine is one ping.
      if (unanswered === MAX_UNANSWERED) {
        problems = ['it did not answer for 10 seconds and was killed'];
        worker.process.kill('SIGKILL');
      }
      unanswered++;
      send({ kind: 'ping' });
    },
    kill: (signal: 'SIGTERM' | 'SIGKILL') => void worker.process.kill(signal),
  };
}

/** Leaves out the beginning of a line that the worker did not finish. */
function forwardLines(from: Readable, writeLine: (line: string) => void): void {
  let unfinished = '';
  from.setEncoding('utf8').on('data', (text: string) => {
    const lines = (unfinished + text).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) writeLine(`${line}\n`);
  });
}

/** What the primary process tells a worker. A pipe carries it: no other process can see the keys. */
export type Order =
  | Orders
  /** Say what was measured, or that you are alive. */
  | { readonly kind: 'measure' | 'ping' };

/**
 * What the primary process has read and checked. A worker reads no variable and no file of its own: they may have
 * changed since the start of the service.
 */
export type Orders = {
  readonly kind: 'orders';
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For new connections. It changes when it is renewed, and the worker gets its orders again. */
  readonly tls: TlsPair | undefined;
  /** The first worker decides about the key of a first start. */
  readonly isFirst: boolean;
  /** The key that the first worker has made, if it has made one. */
  readonly madeKey?: MadeKey | undefined;
};

/** What a worker tells the primary process. */
export type Report =
  /** `ready`: it takes orders. Node would lose an earlier one. `alive`: the answer to a ping. */
  | { readonly kind: 'ready' | 'alive' }
  | { readonly kind: 'listening'; readonly url: string; readonly madeKey?: MadeKey }
  /** It cannot start. Each problem is one printable text. */
  | { readonly kind: 'failed'; readonly problems: readonly string[] }
  | { readonly kind: 'measured'; readonly series: Series }
  /** It has drained. It ends when the primary process disconnects it. */
  | { readonly kind: 'stopped'; readonly cutOff: number };
