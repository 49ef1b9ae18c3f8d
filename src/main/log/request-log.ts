import type { Logger } from 'pino';
import type { ConnectionTrouble, RequestLog } from '../../adapters/http/wire/request-log.ts';
import { faultOf } from '../../application/ports/fault.ts';
import { auditLog } from './audit.ts';

const CONNECTION_TROUBLES = {
  'cut-off': 'connections cut off: clients that do not read their answers held too much memory',
  refused: 'connections refused: as many as MAX_CONNECTIONS are open',
  'no-descriptors': 'out of file descriptors: new connections are closed without an answer',
  'descriptors-again': 'file descriptors are available again',
  tls: 'a client speaks TLS, but this port speaks plain HTTP: use http:// in its URL, or set TLS_CERT and TLS_KEY',
  'not-tls': 'a client speaks plain HTTP, but this port speaks TLS: use https:// in its URL',
  handshake: 'TLS handshakes failed: these clients cannot connect, or are no TLS clients',
} satisfies Record<ConnectionTrouble['kind'], string>;

/** Writes the HTTP adapter's reports as log lines. The only text from a client in them is the request id. */
export function requestLog(log: Logger): RequestLog {
  const audit = auditLog(log);
  let notLimited = 0;
  return {
    answered: (request) => log.info(request, 'request'),
    failed: (error, requestId) => {
      const level = faultOf(error) === 'storage' ? 'warn' : 'error';
      log[level]({ requestId, err: error instanceof Error ? error : String(error) }, 'failure');
    },
    petCreated: ({ requestId, petId, keyId, keyLabel, replayed }) => {
      const action = replayed ? 'pet.replayed' : 'pet.created';
      // Exact, because an id is at most 2^53 - 1.
      audit.info({ audit: action, requestId, petId: Number(petId), keyId, keyLabel }, 'audit');
    },
    connectionTrouble: ({ kind, ...details }) => log.warn(details, CONNECTION_TROUBLES[kind]),
    notLimited: (err, requestId) =>
      log.warn({ requestId, err, notLimited: ++notLimited }, 'rate limit not enforced'),
  };
}
