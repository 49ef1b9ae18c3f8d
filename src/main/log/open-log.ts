import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Logger, pino } from 'pino';
import type { RequestRecord } from '../../adapters/http/contract/request-log.ts';
import type { Config } from '../config/config.ts';
import type { Env, Output } from '../program/process.ts';
import { auditLog } from './audit.ts';
import { errorFields } from './error-fields.ts';
import { BoundedOutput, type BoundedOutputOptions } from '../../adapters/output/bounded-output.ts';

/** Logs JSON lines to standard output, or text to a terminal. */
export async function openServiceLog({ logLevel }: Pick<Config, 'logLevel'>): Promise<Logger> {
  const output = openOutput(1, {
    ...(isatty(1) && { format: await terminalFormat() }),
    onRoom: (lines) => audit.warn({ lines }, 'log lines were dropped'),
  });
  const log = pino({ level: logLevel, base: null, serializers: { err: errorFields } }, output);
  // The report of dropped lines appears at every log level, because audit lines do.
  const audit = auditLog(log);
  return log;
}

/** A write to standard error never waits for a reader. */
export function openStandardError(): BoundedOutput {
  return openOutput(2);
}

/** When the process exits, the output writes as many of its last lines as the reader accepts. */
function openOutput(fd: 1 | 2, options: BoundedOutputOptions = {}): BoundedOutput {
  const output = new BoundedOutput(openNonBlocking(fd), options);
  process.once('exit', () => output.end());
  return output;
}

/** Whether standard error is the journal of systemd: `$JOURNAL_STREAM` in systemd.exec(5). */
export function isJournal({ JOURNAL_STREAM }: Env): boolean {
  const { dev, ino } = fstatSync(2);
  return JOURNAL_STREAM === `${dev}:${ino}`;
}

/** Logs to standard error, because standard output is for the command's result. */
export async function openCommandLog(stderr: Output): Promise<Logger> {
  const format = stderr.isTTY ? await terminalFormat() : (line: string) => line;
  return pino({ base: null }, { write: (line) => stderr.write(format(line)) });
}

/** Reopens a pipe or a terminal as non-blocking (docs/decisions.md, "The log is our own bounded buffer"). */
function openNonBlocking(fd: 1 | 2): number {
  if (isatty(fd) || fstatSync(fd).isFIFO()) {
    try {
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
      return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    } catch (error) {
      // There is no /proc, another user owns the pipe or terminal, or the pipe has no reader.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  }
  // Node makes pipes and sockets non-blocking when these streams are first used.
  return fd === 1 ? process.stdout.fd : process.stderr.fd;
}

/** Loads pino-pretty only when called, because most services log to no terminal. */
async function terminalFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    singleLine: true,
    ignore: 'method,route,status,durationMs',
    messageFormat: (line) => (line['msg'] === 'request' ? requestText(line) : String(line['msg'])),
  });
}

function requestText({ method, route, status, durationMs }: Partial<RequestRecord>): string {
  const words = [method ?? 'not HTTP', route ?? 'no route', status ?? 'no answer'];
  if (durationMs !== undefined) words.push(`${durationMs} ms`);
  return words.join(' ');
}
