import { Command, CommanderError } from 'commander';
import { PROGRAM, readBuild } from '../config/build.ts';
import { describeVariables } from '../config/variables.ts';
import { UsageError } from '../program/failures.ts';
import { addKeyCommands } from './key-commands.ts';
import { addTransferCommands } from './transfer-commands.ts';
import type { ActionOf, Session } from './session.ts';
import { addStorageCommands } from './storage-commands.ts';

type Invocation = {
  /**
   * @returns the exit code, or `undefined` when the service has started
   * @throws {UsageError} when the command line is wrong
   */
  readonly perform: (session: Session) => Promise<number | undefined>;
  /** For example `bin/petstore keys create --help`. */
  readonly help: string;
  readonly env?: string;
  readonly json?: true;
};

const environmentHelp = () => `
Variables and their defaults; an empty variable counts as not set; --env FILE reads them from a file:
${describeVariables()}

Exit codes: 0 done, 1 failed or refused, 2 wrong command line.
`;

/**
 * The default command is `serve`.
 *
 * @param columns the width of the help
 */
export function parseCommandLine(argv: readonly string[], columns = 120): Invocation {
  let helpText = '';
  let perform: Invocation['perform'] = (session) => session.print(helpText).then(() => 0);
  const { version, commit } = readBuild();
  const petstore = new Command(PROGRAM)
    .description('A pet catalogue with a JSON HTTP API.')
    .version(`${version}+${commit}`, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    // Both options may also follow the name of a command.
    .option('--env <FILE>', 'read variables from FILE, such as .env; the environment overrides them')
    .option('--json', 'write the answer of the command as JSON')
    .helpCommand('help [COMMAND]', 'Shows the help of a command.')
    .configureHelp({ showGlobalOptions: true, subcommandDescription: firstSentence })
    .addHelpText('after', environmentHelp)
    .exitOverride()
    .configureOutput({
      writeOut: (part) => void (helpText += part),
      // Errors of commander become UsageErrors.
      outputError: () => {},
      writeErr: () => {},
      getOutHelpWidth: () => columns,
      getOutHasColors: () => false,
    });
  petstore
    .command('serve')
    .description('Runs the service (the default command).')
    .addHelpText('after', environmentHelp)
    .action(() => void (perform = serve));
  const actionOf: ActionOf =
    (work) =>
    (...given) => {
      perform = (session) => session.run(() => work(session, ...(given as never[])));
    };
  addKeyCommands(petstore, actionOf);
  addStorageCommands(petstore, actionOf);
  addTransferCommands(petstore, actionOf);
  try {
    // The `help` of commander takes only one name.
    const isNested = argv[0] === 'help' && argv.length > 2;
    petstore.parse(isNested ? [...argv.slice(1), '--help'] : argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // The command line names no command.
    if (error.code === 'commander.help' && petstore.args.length === 0) perform = serve;
    else if (error.exitCode !== 0) perform = () => refuse(error, petstore);
  }
  const help = `${namesOf(namedCommands(petstore), ' ')} --help`;
  return { perform, help, ...petstore.opts<Pick<Invocation, 'env' | 'json'>>() };
}

async function serve({ io, json }: Session): Promise<undefined> {
  if (json) throw new UsageError('serve does not take --json');
  await io.serve(io);
}

/** Returns the commands on the command line, for example the program, `keys` and `create`. */
function namedCommands(command: Command): readonly Command[] {
  const next = command.commands.find((child) => child.name() === command.args[0]);
  return next === undefined ? [command] : [command, ...namedCommands(next)];
}

/**
 * Quotes no value of an option, because it may be a secret. Quotes at most 20 characters of a word, because a longer
 * word is no name of a command or an option, and may be an API key.
 *
 * @throws {UsageError} with one line, which has commander's "Did you mean"
 */
function refuse({ code, message }: CommanderError, petstore: Command): never {
  const { commands = [], args = [] } = namedCommands(petstore).at(-1) ?? {};
  if (code === 'commander.help')
    throw new UsageError(`the command must be one of ${namesOf(commands, ', ')}`);
  if (code === 'commander.excessArguments') throw new UsageError('too many arguments');
  // Commander reports only the first unknown option.
  const options = code === 'commander.unknownOption' ? args.filter((word) => /^-./.test(word)).slice(1) : [];
  throw new UsageError(
    message
      .replace(/^error: (.* is invalid(?: for argument '\w+')?\. )?/s, '')
      .replace(/^(unknown option '[^=]+)=.*'/s, "$1=…'")
      .replace(/'([^']{20})[^']+'/, "'$1…'")
      .replace(/\n/, ' ')
      .concat(...options.map((word) => `; unknown option '${/^[^=]{1,20}/.exec(word)?.[0]}'`)),
  );
}

/** Ends at the first period or colon. */
function firstSentence(command: Command): string {
  return command.description().split(/[.:] |\.$/)[0] ?? '';
}

function namesOf(commands: readonly Command[], separator: string): string {
  return commands.map((command) => command.name()).join(separator);
}
