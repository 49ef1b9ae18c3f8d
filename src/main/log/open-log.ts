import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Logger, pino } from 'pino';
import type { RequestRecord } from '../../adapters/http/contract/request-log.ts';
import type { Config } from '../config/config.ts';
import type { Env, Output } from '../program/process.ts';
import { auditLog } from './audit.ts';
import { errorFields } from './error-fields.ts';
import { BoundedOutput, type BoundedOutputOptions } from '../../adapters/output/bounded-output.ts';

/** The service's log on standard output: JSON lines, or text if standard output is a terminal. */
export async function openServiceLog({ logLevel }: Pick<Config, 'logLevel'>): Promise<Logger> {
  const output = openOutput(1, {
    ...(isatty(1) && { format: await terminalFormat() }),
    onRoom: (lines) => audit.warn({ lines }, 'log lines were dropped'),
  });
  const log = pino({ level: logLevel, base: null, serializers: { err: errorFields } }, output);
  // Reports at every level, because audit lines are logged at every level.
  const audit = auditLog(log);
  return log;
}

/** The service's standard error. Like the log, it never makes the service wait for its reader. */
export function openStandardError(): BoundedOutput {
  return openOutput(2);
}

/** When the process exits, it writes what it still holds, as far as its reader takes it. */
function openOutput(fd: 1 | 2, options: BoundedOutputOptions = {}): BoundedOutput {
  const output = new BoundedOutput(nonBlocking(fd), options);
  process.once('exit', () => output.end());
  return output;
}

/** Whether standard error goes to the journal of systemd: `$JOURNAL_STREAM` in systemd.exec(5). */
export function isJournal({ JOURNAL_STREAM }: Env): boolean {
  const { dev, ino } = fstatSync(2);
  return JOURNAL_STREAM === `${dev}:${ino}`;
}

/** A command's log, on standard error: standard output is for the command's result. */
export async function openCommandLog(stderr: Output): Promise<Logger> {
  const format = stderr.isTTY ? await terminalFormat() : (line: string) => line;
  return pino({ base: null }, { write: (line) => stderr.write(format(line)) });
}

/**
 * A descriptor for the same output that does not block when a pipe has no reader or a terminal is stopped (Ctrl-S). It
 * is reopened where possible, because another process that shares the old one can make it blocking again.
 */
function nonBlocking(fd: 1 | 2): number {
  if (isatty(fd) || fstatSync(fd).isFIFO()) {
    try {
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
      return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    } catch (error) {
      // There is no /proc, it belongs to another user, or the pipe has lost its reader.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  }
  // Node makes a pipe or a socket non-blocking when it opens the stream.
  return fd === 1 ? process.stdout.fd : process.stderr.fd;
}

/** Turns a JSON log line into a line for a terminal. Loads pino-pretty on demand: most services have no terminal. */
async function terminalFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    singleLine: true,
    ignore: 'method,route,status,durationMs',
    messageFormat: (line) => (line['msg'] === 'request' ? inBrief(line) : String(line['msg'])),
  });
}

function inBrief({ method, route, status, durationMs }: Partial<RequestRecord>): string {
  const words = [method ?? 'not HTTP', route ?? 'no route', status ?? 'no answer'];
  if (durationMs !== undefined) words.push(`${durationMs} ms`);
  return words.join(' ');
}
