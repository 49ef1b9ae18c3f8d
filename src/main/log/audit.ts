import type { Logger } from 'pino';
import { around } from '../../application/ports/around.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { ApiKey } from '../../domain/api-key.ts';

/** A logger for the audit trail: who did what. It writes at every log level except `silent`. */
export function auditLog(log: Logger): Logger {
  return log.level === 'silent' ? log : log.child({}, { level: 'info' });
}

/** Writes an audit line about a key, in the format of the service's log. */
export function auditKey(log: Logger, audit: string, key: ApiKey): void {
  const { id, label, scopes, expiresAt, revokedAt } = key;
  log.info({ audit, keyId: id, keyLabel: label, scopes, expiresAt, revokedAt }, 'audit');
}

/** The line of each method. */
const AUDITED = {
  findById: undefined,
  list: undefined,
  recordUse: undefined,
  insert: 'key.created',
  expire: 'key.replaced',
  revoke: 'key.revoked',
} as const;

/** API keys that write an audit line after every change. */
export function auditedKeys(keys: ApiKeyRepository, log: Logger): ApiKeyRepository {
  return around(keys, AUDITED, (audit) => async (call, [given]) => {
    const result = await call();
    // A new key is given. A key that is named by its id is returned, if it exists.
    const key = typeof given === 'string' ? result : given;
    if (key) auditKey(log, audit, key);
    return result;
  });
}
