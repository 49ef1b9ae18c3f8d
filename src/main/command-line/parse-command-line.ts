import { parseArgs } from 'node:util';
import type { Command, Given } from './command.ts';
import { UsageError } from './usage-error.ts';

/**
 * @returns what follows the name of the command, or `help`
 * @throws {UsageError}
 */
export function parseCommandLine(args: readonly string[], command: Command): Given | 'help' {
  const { values, positionals, tokens } = parse(args, command);
  const { help, json, ...options } = values;
  if (help === true) return 'help';
  const names = tokens.flatMap((token) => (token.kind === 'option' ? token.name : []));
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) throw new UsageError(`--${repeated} is given more than once`);
  if (positionals.length > command.maxPositionals) throw new UsageError('too many arguments');
  return { options, json: json === true, positionals };
}

function parse(args: readonly string[], command: Command) {
  try {
    return parseArgs({
      args: [...args],
      tokens: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        ...(command.json && { json: { type: 'boolean' } as const }),
        ...Object.fromEntries(command.options.map((name) => [name, { type: 'string' } as const])),
      },
      allowPositionals: true,
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const isValue = error.code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE';
    throw new UsageError(
      isValue ? 'an option lacks its value or has one that it does not take' : 'unknown option',
    );
  }
}
