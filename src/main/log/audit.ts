import type { Logger } from 'pino';
import { around } from '../../application/ports/around.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { ApiKey } from '../../domain/api-key.ts';

/** The returned logger writes at every log level except `silent`. */
export function auditLog(log: Logger): Logger {
  return log.level === 'silent' ? log : log.child({}, { level: 'info' });
}

export function auditKey(log: Logger, action: string, key: ApiKey): void {
  const { id, label, scopes, expiresAt, revokedAt } = key;
  log.info({ audit: action, keyId: id, keyLabel: label, scopes, expiresAt, revokedAt }, 'audit');
}

/** `undefined`: not audited. */
const AUDIT_ACTIONS = {
  findById: undefined,
  list: undefined,
  recordUse: undefined,
  insert: 'key.created',
  expire: 'key.replaced',
  revoke: 'key.revoked',
} as const;

/** Writes an audit line after each change of a key. */
export function withAuditLines(keys: ApiKeyRepository, log: Logger): ApiKeyRepository {
  return around(keys, AUDIT_ACTIONS, (action) => async (call, [argument]) => {
    const result = await call();
    // `insert` takes a key. `expire` and `revoke` take an id, and return the key if it exists.
    const key = typeof argument === 'string' ? result : argument;
    if (key) auditKey(log, action, key);
    return result;
  });
}
