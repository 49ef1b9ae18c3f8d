import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Logger, pino } from 'pino';
import type { ConnectionTrouble, RequestLog } from '../../adapters/http/request-log.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { BoundedOutput } from './bounded-output.ts';
import type { Config } from '../config/config.ts';

/**
 * The log on standard output: JSON lines, and for people where it is a terminal. At the end of the process both
 * outputs are written, as far as that is possible.
 *
 * @param standardError learns what was lost of the log in the end
 */
export async function openLog(
  { logLevel }: Pick<Config, 'logLevel'>,
  standardError: BoundedOutput,
): Promise<Logger> {
  const isTerminal = isatty(1);
  const output = new BoundedOutput(nonBlocking(1), {
    ...(isTerminal && { form: await pretty() }),
    onRoom: (dropped) => audit.warn(dropped, 'log lines were dropped'),
  });
  const log = pino({ level: logLevel, base: null }, output);
  // At every level: it tells of audit lines, too.
  const audit = auditLog(log);
  process.once('exit', () => {
    const lost = output.end();
    if (lost !== undefined && !isTerminal) {
      const { lines, auditLines } = lost;
      standardError.write(`petstore: ${lines} log lines were lost, ${auditLines} of them audit lines\n`);
    }
    standardError.end();
  });
  return log;
}

/** Standard error of the service, which must not wait for its reader either. */
export function openStandardError(): BoundedOutput {
  return new BoundedOutput(nonBlocking(2));
}

/** The log of a command: on standard error, because standard output is for what the command was asked for. */
export async function openCommandLog(stderr: {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}): Promise<Logger> {
  const form = stderr.isTTY ? await pretty() : (line: string) => line;
  return pino({ base: null }, { write: (line) => stderr.write(form(line)) });
}

async function pretty(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({});
}

/**
 * A descriptor for the same output that does not block where there is no reader, or a terminal is stopped (Ctrl-S). It
 * is opened anew where that is possible: who else has the old one can make that one blocking again.
 */
function nonBlocking(fd: 1 | 2): number {
  if (isatty(fd) || fstatSync(fd).isFIFO()) {
    try {
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
      return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    } catch (error) {
      // There is no /proc, or it belongs to another user, or the reader is gone.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  }
  // This makes a pipe or a socket non-blocking.
  return fd === 1 ? process.stdout.fd : process.stderr.fd;
}

/**
 * For who did what. It does not depend on how much else is to be logged: whoever wants only warnings does not want to
 * lose that. Only `silent` silences it, too.
 */
export function auditLog(log: Logger): Logger {
  return log.level === 'silent' ? log : log.child({}, { level: 'info' });
}

const CONNECTION_TROUBLES = {
  'cut-off': 'connections cut off: too much was held for clients that do not take it',
  refused: 'connections refused: there are as many as MAX_CONNECTIONS allows',
  'no-descriptors': 'no file descriptor is left: new connections are closed unheard',
  'descriptors-again': 'there are file descriptors again',
} satisfies Record<ConnectionTrouble['kind'], string>;

/** The HTTP adapter's reports as log lines. Nothing that a client controls but the request id gets in. */
export function requestLog(log: Logger): RequestLog {
  const audit = auditLog(log);
  let notLimited = 0;
  return {
    answered: (request) => log.info(request, 'request'),
    failed: (error, requestId) => {
      const level = error instanceof StorageUnavailable ? 'warn' : 'error';
      log[level]({ requestId, err: error instanceof Error ? error : String(error) }, 'failure');
    },
    petCreated: ({ requestId, petId, keyId, keyLabel, replayed }) => {
      const action = replayed ? 'pet.replayed' : 'pet.created';
      // Exact: an id is at most 2^53 - 1.
      audit.info({ audit: action, requestId, petId: Number(petId), keyId, keyLabel }, 'audit');
    },
    connectionTrouble: ({ kind, ...details }) => log.warn(details, CONNECTION_TROUBLES[kind]),
    notLimited: (err, requestId) => log.warn({ requestId, err, notLimited: ++notLimited }, 'not limited'),
  };
}
