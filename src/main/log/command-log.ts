import { type Logger, pino } from 'pino';
import { terminalFormat } from './terminal-format.ts';

/** A command's log, on standard error: standard output is for the command's result. */
export async function openCommandLog(): Promise<Logger> {
  const format = process.stderr.isTTY ? await terminalFormat() : (line: string) => line;
  return pino({ base: null }, { write: (line) => process.stderr.write(format(line)) });
}
