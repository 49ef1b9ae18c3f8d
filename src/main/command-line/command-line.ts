import { Command, CommanderError, Option } from 'commander';
import { PROGRAM, readBuild } from '../config/build.ts';
import { describeVariables } from '../config/variables.ts';
import { UsageError } from '../program/failures.ts';
import { addKeyCommands } from './key-commands.ts';
import { addMovingCommands } from './moving-commands.ts';
import type { Session } from './session.ts';
import { addStorageCommands } from './storage-commands.ts';

/** What a command does. It gets the arguments of its definition, then its options by name. */
type Action = (session: Session, ...given: never[]) => Promise<void>;

/** Makes of an action what commander calls when the command line names the command. */
export type Does = (action: Action) => (...given: unknown[]) => void;

/** What a command line asks for: the service, a command, or a text such as the help. */
type Invocation = {
  /** Resolves with the exit code; `undefined` when the service has started. */
  readonly perform: (session: Session) => Promise<number | undefined>;
  /** The file of `--env`. */
  readonly env?: string;
  readonly json?: true;
};

const ENVIRONMENT = () => `
Variables and their defaults; an empty one counts as not set; --env FILE reads them from a file:
${describeVariables()}

Exit codes: 0 done, 1 failed or refused, 2 wrong command line.
`;

/** A command line of the program. Without the name of a command, `serve` is meant. */
export class CommandLine {
  readonly #argv: readonly string[];
  readonly #petstore: Command;
  #perform: Invocation['perform'] | undefined;
  #text = '';

  /** @param columns the width of the help */
  constructor(argv: readonly string[], columns = 120) {
    this.#argv = argv;
    const { version, commit } = readBuild();
    this.#petstore = new OneValueCommand(PROGRAM)
      .description('A pet catalogue with a JSON HTTP API.')
      .version(`${version}+${commit}`, '-V, --version', 'show the version')
      .helpOption('-h, --help', 'show this help')
      // These two also after the name of a command.
      .option('--env <FILE>', 'read variables from FILE, such as .env; those of the environment win')
      .option('--json', 'write the answer of the command as JSON')
      .helpCommand('help [COMMAND]', 'Shows the help of a command.')
      .configureHelp({ showGlobalOptions: true, subcommandDescription: firstSentence })
      .addHelpText('after', ENVIRONMENT)
      .exitOverride()
      .configureOutput({
        writeOut: (part) => void (this.#text += part),
        // Its errors become UsageErrors.
        outputError: () => {},
        writeErr: () => {},
        getOutHelpWidth: () => columns,
        getOutHasColors: () => false,
      });
    this.#petstore
      .command('serve')
      .description('Runs the service (the default command).')
      .addHelpText('after', ENVIRONMENT)
      .action(() => void (this.#perform = serve));
    const does: Does =
      (action) =>
      (...given) => {
        this.#perform = (session) => session.run(() => action(session, ...(given as never[])));
      };
    addKeyCommands(this.#petstore, does);
    addStorageCommands(this.#petstore, does);
    addMovingCommands(this.#petstore, does);
  }

  /** The commands that it names: the program, then `keys`, then `create`. */
  get #named(): readonly [Command, ...Command[]] {
    const path: [Command, ...Command[]] = [this.#petstore];
    for (const word of withoutEnv(this.#argv)) {
      const next = path.at(-1)?.commands.find((command) => command.name() === word);
      if (next === undefined) break;
      path.push(next);
    }
    return path;
  }

  /** What prints the help of the command, such as `bin/petstore keys create --help`. */
  get help(): string {
    return `${namesOf(this.#named, ' ')} --help`;
  }

  /** @throws {UsageError} */
  parse(): Invocation {
    const [first = '-'] = withoutEnv(this.#argv);
    const isStart = first.startsWith('-') && !/^(-h|--help|-V|--version)$/.test(first);
    try {
      this.#petstore.parse(isStart ? ['serve', ...this.#argv] : this.#argv, { from: 'user' });
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode !== 0) throw new UsageError(this.#problemOf(error));
    }
    const print = (session: Session) => session.print(this.#text).then(() => 0);
    if (this.#perform === undefined) return { perform: print };
    return { perform: this.#perform, ...this.#petstore.opts<{ env?: string; json?: true }>() };
  }

  /**
   * One line, with the suggestion. Names words and options, but no value of an option, which may be a secret. No word
   * of ours has more than 20 characters, so a longer one may be an API key: only its start is named.
   */
  #problemOf({ code, message }: CommanderError): string {
    if (code === 'commander.help') {
      return `the command must be one of ${namesOf(this.#named.at(-1)?.commands ?? [], ', ')}`;
    }
    if (code === 'commander.excessArguments') return 'too many arguments';
    return message
      .replace(/^error: /, '')
      .replace(/^(unknown option '[^=]+)=.*'/s, "$1=…'")
      .replace(/'([^']{20})[^']+'/, "'$1…'")
      .replace(/\n/, ' ');
  }
}

async function serve({ io, json }: Session): Promise<undefined> {
  if (json) throw new UsageError('--json is for commands');
  await io.serve(io);
}

/** Each option that takes a value has one, and is given once. */
class OneValueCommand extends Command {
  override createCommand(name?: string): Command {
    return new OneValueCommand(name);
  }

  override createOption(flags: string, meaning?: string): Option {
    const option = new Option(flags, meaning);
    if (!option.required) return option;
    let isGiven = false;
    return option.argParser((value: string) => {
      if (isGiven) throw new UsageError(`${option.long} is given more than once`);
      if (value.startsWith('--')) throw new UsageError(`${option.long} lacks its value`);
      isGiven = true;
      return value;
    });
  }
}

/** Without what follows a colon. */
function firstSentence(command: Command): string {
  return command.description().split(/[.:] |\.$/)[0] ?? '';
}

function namesOf(commands: readonly Command[], separator: string): string {
  return commands.map((command) => command.name()).join(separator);
}

/** The command line without `--env FILE`. Not `--env-file`: Node reads that itself, wherever it is. */
function withoutEnv(argv: readonly string[]): readonly string[] {
  return argv.filter((word, at) => !word.startsWith('--env') && argv[at - 1] !== '--env');
}
