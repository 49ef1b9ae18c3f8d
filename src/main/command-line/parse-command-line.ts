import { Command as Program, CommanderError, Option } from 'commander';
import { PROGRAM, readBuild } from '../config/build.ts';
import { describeVariables } from '../config/variables.ts';
import { UsageError } from '../program/failures.ts';
import { commandNameOf, COMMANDS, withoutEnv } from './commands.ts';
import type { Command, Given } from './session.ts';

/** What a command line asks for: a command, or a text such as the help. */
export type Invocation =
  /** Without a command to load: the service. */
  { readonly load?: () => Promise<Command>; readonly given: Given } | { readonly text: string };

const ENV = 'read variables from this file, such as .env; the variables of the environment win';

const environment = () => `
Variables and their defaults; an empty one counts as not set; --env FILE reads them from a file:
${describeVariables()}

Exit codes: 0 done, 1 failed or refused, 2 wrong command line.
`;

/**
 * Without the name of a command, `serve` is meant.
 *
 * @param columns the width of the help
 * @throws {UsageError}
 */
export function parseCommandLine(argv: readonly string[], columns = 120): Invocation {
  const invocations: Invocation[] = [];
  let text = '';
  const { version, commit } = readBuild();
  const program = new Program(PROGRAM)
    .description('A pet catalogue with a JSON HTTP API.')
    .version(`${version}+${commit}`, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    // Before the command. It parses those after it, too.
    .addOption(option('--env <FILE>', ENV))
    .helpCommand('help [COMMAND]', 'show the help of a command')
    .addHelpText('after', environment)
    .exitOverride()
    .configureOutput({
      writeOut: (part) => void (text += part),
      // Its errors become UsageErrors.
      outputError: () => {},
      writeErr: () => {},
      getOutHelpWidth: () => columns,
      getOutHasColors: () => false,
    });
  define(program, (command) => void invocations.push(command));
  const [first = '-'] = withoutEnv(argv);
  const isStart = first.startsWith('-') && !/^(-h|--help|-V|--version)$/.test(first);
  try {
    program.parse(isStart ? ['serve', ...argv] : argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw new UsageError(problemOf(error, argv));
  }
  return invocations[0] ?? { text };
}

/** Adds all commands. `onCommand` gets the one that a command line names. */
function define(program: Program, onCommand: (invocation: Invocation) => void): void {
  const groups = new Map<string, Program>();
  for (const [name, definition] of Object.entries(COMMANDS)) {
    const [last = '', group] = name.split(' ').toReversed();
    const command = (groups.get(group ?? '') ?? program)
      .command(last)
      .summary(definition.summary)
      .description(definition.description ?? capitalised(definition.summary));
    groups.set(name, command);
    for (const [form, meaning] of Object.entries(definition.arguments ?? {})) command.argument(form, meaning);
    for (const [flags, meaning] of Object.entries(definition.options ?? {})) {
      command.addOption(option(flags, meaning));
    }
    if (name === 'serve') command.addHelpText('after', environment);
    const { load } = definition;
    if (load === undefined && name !== 'serve') continue;
    command.addOption(option('--env <FILE>', ENV)).action(() => {
      const { json = false, ...options } = command.optsWithGlobals<Given['options'] & { json?: boolean }>();
      onCommand({ ...(load && { load }), given: { options, json, positionals: command.args } });
    });
  }
}

/** An option that may be given once. */
function option(flags: string, meaning: string): Option {
  const made = new Option(flags, meaning);
  if (!made.required) return made;
  return made.argParser((value: string, before: string | undefined) => {
    if (before !== undefined) throw new UsageError(`${made.long} is given more than once`);
    if (value.startsWith('--')) throw new UsageError(`${made.long} lacks its value`);
    return value;
  });
}

/**
 * One line, with the suggestion. Names words and options, but no value of an option, which may be a secret. No word of
 * ours has more than 20 characters, so a longer one may be an API key: only its start is named.
 */
function problemOf({ code, message }: CommanderError, argv: readonly string[]): string {
  if (code === 'commander.help') return `the command must be one of ${namesBeside(argv).join(', ')}`;
  if (code === 'commander.excessArguments') return 'too many arguments';
  return message
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^=]+)=.*'/s, "$1=…'")
    .replace(/'([^']{20})[^']+'/, "'$1…'")
    .replace(/\n/, ' ');
}

/** The commands of the group that the command line names, or those without a group. */
function namesBeside(argv: readonly string[]): readonly string[] {
  const group = commandNameOf(argv);
  const names = Object.keys(COMMANDS);
  if (group === undefined) return names.filter((name) => !name.includes(' '));
  return names.filter((name) => name.startsWith(`${group} `)).map((name) => name.slice(group.length + 1));
}

function capitalised(summary: string): string {
  return summary.charAt(0).toUpperCase() + summary.slice(1);
}
