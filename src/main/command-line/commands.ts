import { writeSync } from 'node:fs';
import type { Command } from './command.ts';
import { copyCommand } from './copy-command.ts';
import { exportCommand } from './export-command.ts';
import { importCommand } from './import-command.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { print } from './print.ts';
import { ProgressReport } from './progress-report.ts';

const COMMANDS = { export: exportCommand, import: importCommand, copy: copyCommand } as const;

type CommandName = keyof typeof COMMANDS;

/** @throws {UsageError} */
export async function runCommand(name: CommandName, argv: readonly string[]): Promise<void> {
  const command: Command = COMMANDS[name];
  const { help, texts, positionals } = parseCommandLine(argv, name, {
    texts: command.options,
    json: false,
    positionals: command.takesFile ? 1 : 0,
  });
  if (help) return print(command.help);
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
    await command.run(
      { file: positionals[0], from: texts['from'], to: texts['to'] },
      { progress, ifInterrupted: (text) => (hint = text) },
    );
  } finally {
    progress.clear();
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
  }
}

/** 128 and the number of the signal, as a shell has it. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
