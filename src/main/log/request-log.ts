import type { Logger } from 'pino';
import type {
  ConnectionTrouble,
  RequestLog,
  RequestRecord,
} from '../../adapters/http/contract/request-log.ts';
import { faultOf } from '../../application/ports/fault.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { auditLog } from './audit.ts';

const CONNECTION_TROUBLES = {
  'cut-off': 'connections cut off: clients that do not read their answers held too much memory',
  refused: 'connections refused: as many as MAX_CONNECTIONS are open',
  tls: 'a client speaks TLS, but this port speaks plain HTTP: use http:// in its URL, or set TLS_CERT and TLS_KEY',
  'not-tls': 'a client speaks plain HTTP, but this port speaks TLS: use https:// in its URL',
  'no-address-from-proxy':
    'X-Forwarded-For has no IP address: errors are logged with the address of the proxy; let it append that of the client',
  handshake: 'TLS handshakes failed: these clients cannot connect, or are no TLS clients',
} satisfies Record<ConnectionTrouble['kind'], string>;

/** How a socket that listens on `::` writes an IPv4 address: RFC 4291, section 2.5.5.2. */
const MAPPED = /^::ffff:(?=\d+\.)/;

const READINESS = '/readyz';
const kindOf = ({ method, route }: Partial<RequestRecord>) => (route === READINESS ? route : method);

/** A success so soon after a failure may be one of several that take turns. */
const QUIET_MS = 1_000;

/** A kind of request that has not failed for this long does not keep an outage open. */
const FORGOTTEN_MS = 60_000;

/** The same trouble with connections can happen thousands of times at once. */
const SAME_TROUBLE_MS = 60_000;

/** Writes the HTTP adapter's reports as log lines. The only text from a client in them is the request id. */
export function requestLog(log: Logger): RequestLog {
  const audit = auditLog(log);
  let notLimited = 0;
  /** When each kind of trouble with connections, and reason, was logged last. */
  const troubles = new Map<string, number>();
  /** When requests of each kind failed last. A full disk stops writes only, a missing index perhaps readiness only. */
  const failing = new Map<string | undefined, number>();
  let beganMs = 0;
  let failedRequests = 0;
  const succeeded = (kind: string | undefined) => {
    if (failing.size === 0) return;
    const nowMs = performance.now();
    for (const [other, lastMs] of failing) {
      // Who can write can read.
      const isProven = other === kind || (kind === 'POST' && other !== READINESS);
      if (nowMs - lastMs > (isProven ? QUIET_MS : FORGOTTEN_MS)) failing.delete(other);
    }
    if (failing.size > 0) return;
    log.warn({ seconds: Math.round(nowMs - beganMs) / 1_000, failedRequests }, 'requests succeed again');
    failedRequests = 0;
  };
  return {
    answered: (request) => {
      const client = request.client?.replace(MAPPED, '');
      log.info(client === request.client ? request : { ...request, client }, 'request');
      if (hasRead(request)) succeeded(kindOf(request));
    },
    failed: (error, requestId, request = {}) => {
      const err = error instanceof Error ? error : String(error);
      if (faultOf(error) !== 'storage') return log.error({ requestId, err }, 'failure');
      const nowMs = performance.now();
      failing.set(kindOf(request), nowMs);
      if (failedRequests++ > 0) return log.debug({ requestId, err }, 'failure');
      beganMs = (error instanceof StorageUnavailable ? error.sinceMs : undefined) ?? nowMs;
      log.warn({ requestId, err }, 'requests fail because of the storage');
    },
    petCreated: ({ requestId, petId, keyId, keyLabel, replayed }) => {
      const action = replayed ? 'pet.replayed' : 'pet.created';
      // Exact, because an id is at most 2^53 - 1.
      audit.info({ audit: action, requestId, petId: Number(petId), keyId, keyLabel }, 'audit');
      if (!replayed) succeeded('POST');
    },
    connectionTrouble: ({ kind, ...details }) => {
      const key = JSON.stringify([kind, details]);
      const nowMs = performance.now();
      if (nowMs - (troubles.get(key) ?? -Infinity) < SAME_TROUBLE_MS) return;
      troubles.set(key, nowMs);
      log.warn(details, CONNECTION_TROUBLES[kind]);
    },
    notLimited: (err, requestId) => {
      notLimited++;
      // In an outage, every request would write this line.
      if (failedRequests === 0) log.warn({ requestId, err, notLimited }, 'rate limit not enforced');
    },
  };
}

/** Whether the storage was read for the answer. */
function hasRead({ route = '', status }: RequestRecord): boolean {
  return (status === 200 || status === 404) && (route === READINESS || route.startsWith('/v1/'));
}
