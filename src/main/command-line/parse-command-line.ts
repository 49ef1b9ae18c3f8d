import { parseArgs } from 'node:util';
import { UsageError } from './usage-error.ts';

export type Parsed = {
  readonly help: boolean;
  readonly json: boolean;
  /** The texts of the options that were given. */
  readonly texts: Readonly<Record<string, string | undefined>>;
  readonly positionals: readonly string[];
};

/**
 * @param command for the hint at its help, such as `copy`
 * @param known the options that take a text; `--help` is always known
 * @throws {UsageError}
 */
export function parseCommandLine(
  argv: readonly string[],
  command: string,
  known: { readonly texts: readonly string[]; readonly json: boolean; readonly positionals: number },
): Parsed {
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...argv],
      tokens: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        ...(known.json && { json: { type: 'boolean' } as const }),
        ...Object.fromEntries(known.texts.map((name) => [name, { type: 'string' } as const])),
      },
      allowPositionals: true,
    });
    const given = tokens.flatMap((token) => (token.kind === 'option' ? token.name : []));
    const twice = given.find((option, index) => given.indexOf(option) < index);
    if (twice !== undefined) throw new UsageError(`--${twice} is given more than once`, `${command} `);
    if (positionals.length > known.positionals) throw new UsageError('too many arguments', `${command} `);
    const { help = false, json = false, ...texts } = values;
    return { help, json: json === true, texts, positionals };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const isValue = error.code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE';
    throw new UsageError(
      isValue ? 'an option lacks its value, or has one that it does not take' : 'unknown option',
      `${command} `,
    );
  }
}
