import { PROGRAM } from '../config/build.ts';
import { explain } from '../program/failures.ts';
import { Interrupted, type Io } from '../program/process.ts';
import { withEnvFile } from './environment.ts';
import { Session } from './session.ts';

/**
 * @param argv without the paths of Node and the program
 * @returns the exit code (docs/reference/commands.md), or `undefined` when the service has started, which ends the
 *   process itself
 */
export async function run(argv: readonly string[], io: Io): Promise<number | undefined> {
  let session = new Session(io);
  let help = `${PROGRAM} --help`;
  try {
    // `serve` needs no parser.
    if (argv.length === 0 || (argv.length === 1 && argv[0] === 'serve')) {
      await io.serve(io);
      return undefined;
    }
    const { parseCommandLine } = await import('./command-line.ts');
    const invocation = parseCommandLine(argv, io.stdout.columns);
    help = invocation.help;
    const env = invocation.env === undefined ? io.env : withEnvFile(io.env, invocation.env);
    session = new Session({ ...io, env }, invocation.json);
    return await invocation.perform(session);
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    const { lines, exitCode } = explain(error, help);
    for (const line of lines) session.note(line);
    return exitCode;
  }
}
