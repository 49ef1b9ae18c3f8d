import { type ApiKey, apiKeyState } from '../../domain/api-key.ts';
import { ApiKeyNotActive, ApiKeyNotFound } from './errors.ts';
import type { CreatedKey, CreateKey, HandOver } from './create-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

export type Rotation = {
  /** How long the old key stays valid beside the new one, in milliseconds, at least 0. */
  readonly overlapMs: number;
  /** When the new key expires; never when absent. */
  readonly expiresAt?: Date | undefined;
};

export type RotatedKey = CreatedKey & { readonly old: ApiKey };

/** Replaces a key by a new one for the same, and lets the old one expire after an overlap. */
export class RotateKey {
  readonly #keys: ApiKeyRepository;
  readonly #createKey: CreateKey;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, createKey: CreateKey, now: () => Date) {
    this.#keys = keys;
    this.#createKey = createKey;
    this.#now = now;
  }

  /**
   * The new key comes first: nothing happens to the old one before the new one has been handed over.
   *
   * @throws {ApiKeyNotFound}
   * @throws {ApiKeyNotActive}
   * @throws {InvalidApiKey}
   */
  async execute(id: string, { overlapMs, expiresAt }: Rotation, handOver?: HandOver): Promise<RotatedKey> {
    const now = this.#now();
    const before = await this.#keys.findById(id);
    if (before === undefined) throw new ApiKeyNotFound(id);
    const state = apiKeyState(before, now);
    if (state !== 'active') throw new ApiKeyNotActive(id, state);
    const { label, scopes, rateLimit } = before;
    const draft = { label, scopes, rateLimit, expiresAt };
    const created = await this.#createKey.execute(draft, handOver);
    const old = await this.#keys.expire(id, new Date(now.getTime() + overlapMs));
    if (old === undefined) throw new ApiKeyNotFound(id);
    return { ...created, old };
  }
}
