import cluster from 'node:cluster';
import type { Readable } from 'node:stream';
import type { Orders, Report } from './worker-messages.ts';

export type Listening = Extract<Report, { kind: 'listening' }>;

/** How a worker ended. */
export type WorkerEnd = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not start, each problem as one printable text. Empty if it could, or if it was killed. */
  readonly problems: readonly string[];
  /** How many connections it cut off. */
  readonly cutOff: number;
  /** From the fork, in milliseconds. */
  readonly livedMs: number;
};

/** A worker, seen from the primary process. */
export type WorkerProcess = {
  readonly id: number;
  readonly pid: number | undefined;
  /** Resolves when it accepts requests. */
  readonly listening: Promise<Listening>;
  /** Resolves when it has ended and its last line is written. */
  readonly ended: Promise<WorkerEnd>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
};

/**
 * Forks a worker.
 *
 * @param count how many workers there are
 * @param writeLine receives each line of its log
 */
export function forkWorker(
  orders: Orders,
  { count, writeLine }: { readonly count: number; readonly writeLine: (line: string) => void },
): WorkerProcess {
  const forkedMs = performance.now();
  // The worker reads the variables itself. A file of --env-file may have changed since the start.
  const worker = cluster.fork({ WORKERS: `${count}` });
  const listening = Promise.withResolvers<Listening>();
  let problems: readonly string[] = [];
  let cutOff = 0;
  worker.on('message', (report: Report) => {
    if (report.kind === 'listening') listening.resolve(report);
    else if (report.kind === 'failed') problems = report.problems;
    else if (report.kind === 'stopped') {
      cutOff = report.cutOff;
      // It has handed back the connections that it was offered too late.
      worker.disconnect();
    }
  });
  // It was not forked, or it died before it had its orders. The event 'close' follows.
  worker.on('error', (error: Error) => (problems = [`a worker process fails: ${error.message}`]));
  const { stdout } = worker.process;
  if (stdout !== null) forwardLines(stdout, writeLine);
  worker.send(orders);
  const ended = Promise.withResolvers<WorkerEnd>();
  worker.process.on('close', (code, signal) =>
    ended.resolve({ code, signal, problems, cutOff, livedMs: performance.now() - forkedMs }),
  );
  return {
    id: worker.id,
    pid: worker.process.pid,
    listening: listening.promise,
    ended: ended.promise,
    kill: (signal) => void worker.process.kill(signal),
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
