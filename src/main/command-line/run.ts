import type { Command } from './command.ts';
import { findCommand } from './commands.ts';
import { explain } from './failures.ts';
import { Interrupted } from '../interrupted.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { type Io, Session } from './session.ts';
import { usage } from './usage.ts';
import { UsageError } from './usage-error.ts';

/** How long an interrupted command may take to close what it opened. A storage that hangs takes longer. */
const UNWIND_MS = 1_000;

/**
 * Runs the command that the command line names, to its end. A service runs on.
 *
 * @param argv without the paths of Node and the program
 * @returns the exit code: 0 done, 1 failed or refused, 2 wrong command line, 128 + n interrupted by signal n;
 * `undefined` when a service runs, which ends the process itself
 */
export async function run(argv: readonly string[], io: Io): Promise<number | undefined> {
  const session = new Session(io);
  let help = '--help';
  try {
    const found = await findCommand(argv);
    if (found === undefined) throw new UsageError('unknown command');
    const { command, args } = found;
    if (command.usage !== undefined) help = `${command.name} --help`;
    return await obey(command, args, session);
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    const { lines, exitCode } = explain(error, help);
    for (const line of lines) session.note(`petstore: ${line}`);
    return exitCode;
  }
}

async function obey(
  command: Command,
  args: readonly string[],
  session: Session,
): Promise<number | undefined> {
  const given = parseCommandLine(args, command);
  if (given === 'help') {
    await session.print(command.usage ?? usage());
  } else if (command.lasts) {
    await command.run(given, session);
    return undefined;
  } else {
    await untilInterrupted(session, () => command.run(given, session));
  }
  return 0;
}

/**
 * Tells the user at once about an interruption, then lets the work stop and close what it opened.
 *
 * @throws {Interrupted} whatever the work does after the interruption
 */
async function untilInterrupted(session: Session, work: () => Promise<void>): Promise<void> {
  const { signal } = session;
  const givenUp = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    session.note(`petstore: interrupted${session.hint === undefined ? '' : `; ${session.hint}`}`);
    timer = setTimeout(givenUp.resolve, UNWIND_MS);
  };
  signal.addEventListener('abort', onAbort);
  try {
    if (signal.aborted) onAbort();
    else await Promise.race([work(), givenUp.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearTimeout(timer);
    session.clearProgress();
    signal.throwIfAborted();
  }
}
