import type { Logger } from 'pino';
import type { ConnectionError, RequestLog, RequestRecord } from '../../adapters/http/contract/request-log.ts';
import { isVersioned } from '../../adapters/http/contract/versions.ts';
import { faultOf } from '../../domain/fault.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { auditLog } from './audit.ts';

const CONNECTION_ERROR_TEXTS = {
  'cut-off': 'connections were closed: answers that their clients did not read took too much memory',
  refused: 'connections were refused: MAX_CONNECTIONS connections are open',
  tls: 'a client speaks TLS, but this port speaks plain HTTP: use http:// in its URL, or set TLS_CERT and TLS_KEY',
  'not-tls': 'a client speaks plain HTTP, but this port speaks TLS: use https:// in its URL',
  'no-address-from-proxy':
    'X-Forwarded-For has no IP address: errors are logged with the address of the proxy; configure it to append the address of the client',
  handshake: 'TLS handshakes failed: these clients cannot connect, or are no TLS clients',
} satisfies Record<ConnectionError['kind'], string>;

/** A socket on `::` reports IPv4 addresses with this prefix: RFC 4291, section 2.5.5.2. */
const IPV4_PREFIX = /^::ffff:(?=\d+\.)/;

type Outage = {
  readonly beganMs: number;
  readonly failedRequests: number;
  /** The time of the latest failure. */
  readonly failedMs: number;
  /** The latest logged failure. */
  readonly loggedReason: string;
  readonly loggedMs: number;
};

/**
 * An outage ends at the first success after 10 s without a failure. At most one failure per 10 s is logged:
 * docs/decisions.md, "An outage of the storage has a line at its begin".
 */
const QUIET_MS = 10_000;

/** Equal connection errors are logged once per minute, because one cause can produce thousands per second. */
const SAME_ERROR_MS = 60_000;

/** No line has text from a client, except the request id. */
export function requestLog(log: Logger): RequestLog {
  const audit = auditLog(log);
  let notLimited = 0;
  /** When a connection error was last logged, by its kind and details. */
  const lastLineMs = new Map<string, number>();
  let outage: Outage | undefined;
  const endQuietOutage = () => {
    if (outage === undefined || performance.now() - outage.failedMs < QUIET_MS) return;
    const { beganMs, failedMs, failedRequests } = outage;
    log.warn({ seconds: Math.round(failedMs - beganMs) / 1_000, failedRequests }, 'requests succeed again');
    outage = undefined;
  };
  return {
    answered: (request) => {
      const client = request.client?.replace(IPV4_PREFIX, '');
      log.info(client === request.client ? request : { ...request, client }, 'request');
      if (hasUsedStorage(request)) endQuietOutage();
    },
    failed: (error, requestId) => {
      const err = error instanceof Error ? error : String(error);
      if (faultOf(error) !== 'storage') return log.error({ requestId, err }, 'failure');
      const [nowMs, reason] = [performance.now(), String(error)];
      const beganMs = (error instanceof StorageUnavailable ? error.sinceMs : undefined) ?? nowMs;
      outage ??= { beganMs, failedRequests: 0, failedMs: nowMs, loggedReason: '', loggedMs: -Infinity };
      outage = { ...outage, failedMs: nowMs, failedRequests: outage.failedRequests + 1 };
      if (reason === outage.loggedReason || nowMs - outage.loggedMs < QUIET_MS) return;
      outage = { ...outage, loggedReason: reason, loggedMs: nowMs };
      log.warn({ requestId, err }, 'requests fail because of the storage');
    },
    petCreated: ({ requestId, petId, keyId, keyLabel, replayed }) => {
      const action = replayed ? 'pet.replayed' : 'pet.created';
      // `Number` is exact, because an id is at most 2^53 - 1.
      audit.info({ audit: action, requestId, petId: Number(petId), keyId, keyLabel }, 'audit');
    },
    connectionError: ({ kind, ...details }) => {
      const key = JSON.stringify([kind, details]);
      const nowMs = performance.now();
      if (nowMs - (lastLineMs.get(key) ?? -Infinity) < SAME_ERROR_MS) return;
      lastLineMs.set(key, nowMs);
      log.warn(details, CONNECTION_ERROR_TEXTS[kind]);
    },
    notLimited: (err, requestId) => {
      notLimited++;
      // In an outage, every request would log this line.
      if (outage === undefined) log.warn({ requestId, err, notLimited }, 'rate limit not enforced');
    },
  };
}

function hasUsedStorage({ route = '', status = 0 }: RequestRecord): boolean {
  return [200, 201, 404].includes(status) && (route === '/readyz' || isVersioned(route));
}
