import { type Logger, pino } from 'pino';
import type { ConnectionTrouble, RequestLog } from '../adapters/http/request-log.ts';
import { StorageUnavailable } from '../application/errors.ts';
import type { Config } from './config.ts';

/** How much of the log may wait before it is written, in bytes and in milliseconds. */
const BUFFER = { minLength: 8 * 1024, periodicFlush: 100 };

/** The log on standard output: JSON lines, and for people where it is a terminal. */
export async function openLog({ LOG_LEVEL }: Pick<Config, 'LOG_LEVEL'>): Promise<Logger> {
  const options = { level: LOG_LEVEL, base: null };
  if (process.stdout.isTTY) {
    const { default: pretty } = await import('pino-pretty');
    return pino(options, pretty({ sync: true }));
  }
  const output = pino.destination({ ...BUFFER, sync: true });
  process.once('exit', () => output.flushSync());
  return pino(options, output);
}

/** The log of a command: on standard error, because standard output is for what the command was asked for. */
export async function openCommandLog(): Promise<Logger> {
  const options = { base: null };
  if (process.stderr.isTTY) {
    const { default: pretty } = await import('pino-pretty');
    return pino(options, pretty({ destination: 2, sync: true }));
  }
  const output = pino.destination({ dest: 2, sync: true });
  // Whoever cannot be written to cannot be told either; what the command does is not to fail of that.
  output.on('error', () => {});
  return pino(options, output);
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
    petCreated: ({ requestId, petId, keyId, key, replayed }) => {
      const action = replayed ? 'pet.replayed' : 'pet.created';
      // Exact: an id is at most 2^53 - 1.
      audit.info({ audit: action, requestId, petId: Number(petId), keyId, key }, 'audit');
    },
    connectionTrouble: ({ kind, ...details }) => log.warn(details, CONNECTION_TROUBLES[kind]),
    notLimited: (err, requestId) => log.warn({ requestId, err, notLimited: ++notLimited }, 'not limited'),
  };
}
