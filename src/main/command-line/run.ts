import { PROGRAM } from '../config/build.ts';
import { explain } from '../program/failures.ts';
import { Interrupted, type Io } from '../program/process.ts';
import { commandNameOf } from './commands.ts';
import { refuseNpmOptions, withEnvFile } from './environment.ts';
import type { Invocation } from './parse-command-line.ts';
import { Session } from './session.ts';

/** How long an interrupted command may take to close what it opened. A storage that hangs is then abandoned. */
const UNWIND_MS = 1_000;

/**
 * Runs the command that `argv` names. Resolves when the command has ended or the service has started.
 *
 * @param argv without the paths of Node and the program
 * @returns the exit code: 0 done, 1 failed or refused, 2 wrong command line, 128 + n interrupted by signal n.
 *   `undefined` for the service, which ends the process itself
 */
export async function run(argv: readonly string[], io: Io): Promise<number | undefined> {
  let session = new Session(io);
  try {
    refuseNpmOptions(argv, io.env);
    const invocation = await parse(argv, io.stdout.columns);
    if ('text' in invocation) {
      await session.print(invocation.text);
      return 0;
    }
    const { env: file } = invocation.given.options;
    if (file !== undefined) session = new Session({ ...io, env: withEnvFile(io.env, file) });
    const { load, given } = invocation;
    if (load === undefined) {
      await session.io.serve(session.io);
      return undefined;
    }
    const command = await load();
    session.io.onHangUp();
    await untilInterrupted(session, () => command(given, session));
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    const help = [PROGRAM, commandNameOf(argv), '--help'].filter(Boolean).join(' ');
    const { lines, exitCode } = explain(error, help);
    for (const line of lines) session.note(line);
    return exitCode;
  }
}

/** The service starts without the parser. */
async function parse(argv: readonly string[], columns: number | undefined): Promise<Invocation> {
  if (argv.length === 0 || (argv.length === 1 && argv[0] === 'serve')) {
    return { given: { options: {}, json: false, positionals: [] } };
  }
  const { parseCommandLine } = await import('./parse-command-line.ts');
  return parseCommandLine(argv, columns);
}

/**
 * Tells the user at once about an interruption, then lets the work stop and close what it opened.
 *
 * @throws {Interrupted} after an interruption, whatever the work does
 */
async function untilInterrupted(session: Session, work: () => Promise<void>): Promise<void> {
  const { signal } = session.io;
  const givenUp = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    session.note(`interrupted${session.hint === undefined ? '' : `; ${session.hint}`}`);
    timer = setTimeout(givenUp.resolve, UNWIND_MS);
  };
  signal.addEventListener('abort', onAbort);
  try {
    session.progress.start();
    if (signal.aborted) onAbort();
    else await Promise.race([work(), givenUp.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearTimeout(timer);
    session.progress.clear();
    signal.throwIfAborted();
  }
}
