import { API_KEY_ID, type ApiKey, apiKeyProblems, storedApiKey } from '../../domain/api-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';
import { ApiKeyNotFound } from './errors.ts';
import { DamagedApiKey } from '../ports/storage-errors.ts';

/** @returns the key, or an error with the first rule that the fields break */
export function parseStoredApiKey(fields: Partial<Record<keyof ApiKey, unknown>>): ApiKey | DamagedApiKey {
  const [problem] = apiKeyProblems(fields);
  if (problem === undefined) return storedApiKey(fields as ApiKey);
  const { id } = fields;
  // The message has only a valid id, because a damaged id can be any text.
  const hasId = typeof id === 'string' && API_KEY_ID.test(id);
  return new DamagedApiKey(hasId ? id : 'with an unreadable id', problem);
}

export function throwIfDamaged(key: ApiKey | DamagedApiKey): ApiKey {
  if (key instanceof DamagedApiKey) throw key;
  return key;
}

export class GetKey {
  readonly #keys: Pick<ApiKeyRepository, 'findById'>;

  constructor(keys: Pick<ApiKeyRepository, 'findById'>) {
    this.#keys = keys;
  }

  /**
   * @throws {ApiKeyNotFound}
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  async execute(id: string): Promise<ApiKey> {
    const key = await this.#keys.findById(id);
    if (key === undefined) throw new ApiKeyNotFound(id);
    return key;
  }
}

export class RevokeKey {
  readonly #keys: ApiKeyRepository;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, now: () => Date) {
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * Revokes a key. A second revocation changes nothing. Every service refuses the key within 10 s.
   *
   * @throws {ApiKeyNotFound}
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  async execute(id: string): Promise<ApiKey> {
    const storedKey = await this.#keys.findById(id);
    // Keeps the first time, which may be in the future: the clock of the host that revoked the key may be ahead.
    const key = storedKey?.revokedAt === undefined ? await this.#keys.revoke(id, this.#now()) : storedKey;
    if (key === undefined) throw new ApiKeyNotFound(id);
    return key;
  }
}
