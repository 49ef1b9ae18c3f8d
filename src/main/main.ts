import { Interrupted } from './program/process.ts';

// The first process of a container ignores signals that have no handler, so handlers are set first.
const interruption = new AbortController();
const interrupt = (signal: Interrupted['signal']) => interruption.abort(new Interrupted(signal));
// The command and its variables decide what SIGHUP does. An earlier SIGHUP waits for this decision.
const hangUpAction = Promise.withResolvers<() => void>();
process.on('SIGINT', () => interrupt('SIGINT'));
process.on('SIGTERM', () => interrupt('SIGTERM'));
process.on('SIGHUP', () => void hangUpAction.promise.then((act) => act()));

/** After 1 s the process ends, even if standard error has not accepted the last lines. */
const LAST_LINES_MS = 1_000;

// A failed write must not crash the process. The caller learns of a failure of standard output. A failure of standard
// error cannot be reported.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});

void Promise.all([import('./command-line/run.ts'), import('./config/storages.ts')])
  .then(([{ run }, { STORAGES }]) =>
    run(process.argv.slice(2), {
      env: process.env,
      stdout: process.stdout,
      stderr: process.stderr,
      // Only a command that reads standard input opens it.
      stdin: () => process.stdin,
      signal: interruption.signal,
      setHangUpAction: (act = () => interrupt('SIGHUP')) => hangUpAction.resolve(act),
      storages: STORAGES,
      serve: async (io) => (await import('./service/serve.ts')).serve(io),
    }),
  )
  .then(endProcess);

/** @param exitCode `undefined`: the service continues to run */
function endProcess(exitCode: number | undefined): void {
  if (exitCode === undefined) return;
  process.exitCode = exitCode;
  // An unresponsive storage that the command has abandoned would keep the process alive.
  if (interruption.signal.aborted) process.exit();
  setTimeout(() => process.exit(), LAST_LINES_MS).unref();
}
