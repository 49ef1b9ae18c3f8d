import { Interrupted } from './interrupted.ts';
import { run } from './command-line/run.ts';
import { STORAGES } from './storages.ts';

/** How long standard error may take to accept the last lines before the process ends anyway. */
const LAST_LINES_MS = 1_000;

// A failed write to standard output reaches its caller. A failed write to standard error cannot be reported anywhere.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});

// Handled from the start: signals have no default action for the first process of a container.
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interruption.abort(new Interrupted(signal)));
}

void run(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  // Opened on use only.
  stdin: () => process.stdin,
  signal: interruption.signal,
  storages: STORAGES,
}).then(end);

/** @param exitCode `undefined` for the service, which goes on */
function end(exitCode: number | undefined): void {
  if (exitCode === undefined) return;
  process.exitCode = exitCode;
  // An interrupted command may have abandoned a storage that hangs.
  if (interruption.signal.aborted) process.exit();
  setTimeout(() => process.exit(), LAST_LINES_MS).unref();
}
