import type { Logger } from 'pino';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { ApiKey } from '../../domain/api-key.ts';

const WORDS = {
  'key.created': 'key created',
  'key.copied': 'key copied',
  'key.replaced': 'key replaced by a new one',
  'key.revoked': 'key revoked',
} as const;

/** Writes an audit line about a key, in the format of the service's log. */
export function auditKey(log: Logger, audit: keyof typeof WORDS, key: ApiKey): void {
  const { id, label, scopes, expiresAt, revokedAt } = key;
  log.info({ audit, keyId: id, keyLabel: label, scopes, expiresAt, revokedAt }, WORDS[audit]);
}

/** API keys that write an audit line after every change. */
export function auditedKeys(keys: ApiKeyRepository, log: Logger): ApiKeyRepository {
  const audited = (audit: keyof typeof WORDS, key: ApiKey | undefined) => {
    if (key !== undefined) auditKey(log, audit, key);
    return key;
  };
  return {
    findById: (id) => keys.findById(id),
    list: () => keys.list(),
    recordUse: (uses) => keys.recordUse(uses),
    async insert(key) {
      await keys.insert(key);
      auditKey(log, 'key.created', key);
    },
    expire: async (id, at) => audited('key.replaced', await keys.expire(id, at)),
    revoke: async (id, at) => audited('key.revoked', await keys.revoke(id, at)),
  };
}
