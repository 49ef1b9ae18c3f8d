import { setTimeout as sleep } from 'node:timers/promises';
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
 * Runs the command that the command line names, to its end.
 *
 * @param argv without the paths of Node and the program
 * @returns the exit code: 0 done, 1 failed or refused, 2 wrong command line, 128 + n interrupted by signal n
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const session = new Session(io);
  let help = '--help';
  try {
    const found = await findCommand(argv);
    if (found === undefined) throw new UsageError('unknown command');
    const { command, args } = found;
    if (command.usage !== undefined) help = `${command.name} --help`;
    await obey(command, args, session);
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    const { lines, exitCode } = explain(error, help);
    for (const line of lines) session.note(`petstore: ${line}`);
    return exitCode;
  }
}

async function obey(command: Command, args: readonly string[], session: Session): Promise<void> {
  const given = parseCommandLine(args, command);
  if (given === 'help') return session.print(command.usage ?? usage());
  if (command.drains) return command.run(given, session);
  return untilInterrupted(session, () => command.run(given, session));
}

/**
 * Tells the user at once about an interruption, then lets the work stop and close what it opened.
 *
 * @throws {Interrupted} whatever the work does after the interruption
 */
async function untilInterrupted(session: Session, work: () => Promise<void>): Promise<void> {
  const { signal } = session;
  const interrupted = Promise.withResolvers<void>();
  const onAbort = () => {
    session.note(`petstore: interrupted${session.hint === undefined ? '' : `; ${session.hint}`}`);
    void sleep(UNWIND_MS, undefined, { ref: false }).then(interrupted.resolve);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work(), interrupted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    session.clearProgress();
    signal.throwIfAborted();
  }
}
