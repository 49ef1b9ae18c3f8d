import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { UsageError } from '../usage-error.ts';
import type { Arguments, Command } from './command.ts';
import { copyCommand } from './copy-command.ts';
import { exportCommand } from './export-command.ts';
import { importCommand } from './import-command.ts';
import { ProgressReport } from './progress-report.ts';

const COMMANDS = { export: exportCommand, import: importCommand, copy: copyCommand } as const;

type CommandName = keyof typeof COMMANDS;

/** @throws {UsageError} */
export async function runCommand(name: CommandName, argv: readonly string[]): Promise<void> {
  const command: Command = COMMANDS[name];
  const { help, ...args } = parse(name, command, argv);
  if (help) {
    process.stdout.write(command.help);
    return;
  }
  const progress = new ProgressReport(process.stderr);
  let hint = 'run the same command again';
  const interrupted = (signal: 'SIGINT' | 'SIGTERM') => {
    progress.clear();
    // At once: the process is gone before a stream would have written it.
    writeSync(2, `petstore: interrupted; ${hint}\n`);
    // Nothing has to be wound up: all of this can be killed at any time.
    process.exit(EXIT_CODES[signal]);
  };
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    await command.run(args, { progress, ifInterrupted: (text) => (hint = text) });
  } finally {
    progress.clear();
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
  }
}

/** 128 and the number of the signal, as a shell has it. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

function parse(
  name: CommandName,
  { options, takesFile }: Command,
  argv: readonly string[],
): Arguments & { help: boolean } {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: {
        help: { type: 'boolean', short: 'h' },
        ...Object.fromEntries(options.map((option) => [option, { type: 'string' } as const])),
      },
      allowPositionals: true,
    });
    const { help, from, to } = values as { help?: boolean; from?: string; to?: string };
    if (positionals.length > (takesFile ? 1 : 0)) throw new UsageError('too many arguments', `${name} `);
    return { help: help ?? false, file: positionals[0], from, to };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const isValue = error.code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE';
    throw new UsageError(isValue ? 'an option lacks its value' : 'unknown option', `${name} `);
  }
}
