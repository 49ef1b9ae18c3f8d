import { constants } from 'node:os';
import type { Command } from './command.ts';
import { copyCommand } from './copy-command.ts';
import { exportCommand } from './export-command.ts';
import { importCommand } from './import-command.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { print } from './print.ts';
import { ProgressReport } from './progress-report.ts';

const COMMANDS = { export: exportCommand, import: importCommand, copy: copyCommand } as const;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

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
  const interrupted = (signal: NodeJS.Signals) => {
    progress.clear();
    // Written at once, because there is room: https://nodejs.org/api/process.html#a-note-on-process-io
    process.stderr.write(`petstore: interrupted; ${hint}\n`);
    // Nothing has to be wound up: all of this can be killed at any time.
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    await command.run(
      { file: positionals[0], from: texts['from'], to: texts['to'] },
      { progress, ifInterrupted: (text) => (hint = text) },
    );
  } finally {
    progress.clear();
    for (const signal of SIGNALS) process.off(signal, interrupted);
  }
}
