import { type Logger, pino } from 'pino';
import { terminalFormat } from './terminal-format.ts';

/** A command's log, on standard error: standard output is for the command's result. */
export async function openCommandLog(stderr: {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}): Promise<Logger> {
  const format = stderr.isTTY ? await terminalFormat() : (line: string) => line;
  return pino({ base: null }, { write: (line) => stderr.write(format(line)) });
}
