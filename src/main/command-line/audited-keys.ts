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
export class AuditedApiKeys implements ApiKeyRepository {
  readonly #keys: ApiKeyRepository;
  readonly #log: Logger;

  constructor(keys: ApiKeyRepository, log: Logger) {
    this.#keys = keys;
    this.#log = log;
  }

  findById(id: string): Promise<ApiKey | undefined> {
    return this.#keys.findById(id);
  }

  list(): ReturnType<ApiKeyRepository['list']> {
    return this.#keys.list();
  }

  recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    return this.#keys.recordUse(uses);
  }

  async insert(key: ApiKey): Promise<void> {
    await this.#keys.insert(key);
    auditKey(this.#log, 'key.created', key);
  }

  async expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#audited('key.replaced', await this.#keys.expire(id, at));
  }

  async revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#audited('key.revoked', await this.#keys.revoke(id, at));
  }

  #audited(audit: keyof typeof WORDS, key: ApiKey | undefined): ApiKey | undefined {
    if (key !== undefined) auditKey(this.#log, audit, key);
    return key;
  }
}
