import { Interrupted } from './program/process.ts';

// Before anything else is loaded. Signals have no default action for the first process of a container.
const interruption = new AbortController();
const interrupt = (signal: Interrupted['signal']) => interruption.abort(new Interrupted(signal));
// What SIGHUP does depends on the command and its variables. One that comes earlier waits.
const hangUp = Promise.withResolvers<() => void>();
process.on('SIGINT', () => interrupt('SIGINT'));
process.on('SIGTERM', () => interrupt('SIGTERM'));
process.on('SIGHUP', () => void hangUp.promise.then((act) => act()));

/** How long standard error may take to accept the last lines before the process ends anyway. */
const LAST_LINES_MS = 1_000;

// A failed write to standard output reaches its caller. A failed write to standard error cannot be reported anywhere.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});

void Promise.all([import('./command-line/run.ts'), import('./config/storages.ts')])
  .then(([{ run }, { STORAGES }]) =>
    run(process.argv.slice(2), {
      env: process.env,
      stdout: process.stdout,
      stderr: process.stderr,
      // Opened on use only.
      stdin: () => process.stdin,
      signal: interruption.signal,
      onHangUp: (act = () => interrupt('SIGHUP')) => hangUp.resolve(act),
      storages: STORAGES,
      serve: async (io) => (await import('./service/serve.ts')).serve(io),
    }),
  )
  .then(end);

/** @param exitCode `undefined` for the service, which goes on */
function end(exitCode: number | undefined): void {
  if (exitCode === undefined) return;
  process.exitCode = exitCode;
  // An interrupted command may have abandoned a storage that hangs.
  if (interruption.signal.aborted) process.exit();
  setTimeout(() => process.exit(), LAST_LINES_MS).unref();
}
