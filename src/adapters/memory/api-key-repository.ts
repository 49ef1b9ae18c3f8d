import { ApiKeyIdTaken } from '../../application/keys/errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { endedKey, isUseDue, storedApiKey, type ApiKey } from '../../domain/api-key.ts';

export class InMemoryApiKeyRepository implements ApiKeyRepository {
  readonly #keys = new Map<string, ApiKey>();

  async insert(key: ApiKey): Promise<void> {
    const stored = this.#keys.getOrInsertComputed(key.id, () => structuredClone(storedApiKey(key)));
    if (stored.digest !== key.digest) throw new ApiKeyIdTaken(key.id);
  }

  async findById(id: string): Promise<ApiKey | undefined> {
    return structuredClone(this.#keys.get(id));
  }

  async list(): Promise<readonly ApiKey[]> {
    const keys = structuredClone([...this.#keys.values()]);
    return keys.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
  }

  async revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#change(id, (key) => endedKey(key, 'revokedAt', at));
  }

  async expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#change(id, (key) => endedKey(key, 'expiresAt', at));
  }

  async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    for (const [id, at] of uses) {
      this.#change(id, (key) => (isUseDue(key, at) ? { ...key, lastUsedAt: at } : key));
    }
  }

  #change(id: string, change: (key: ApiKey) => ApiKey): ApiKey | undefined {
    const key = this.#keys.get(id);
    if (key === undefined) return undefined;
    const changed = structuredClone(change(key));
    this.#keys.set(id, changed);
    return structuredClone(changed);
  }
}
