import { type ApiKeyRecord, apiKeyState } from '../domain/api-key.ts';
import { ApiKeyNotActive, ApiKeyNotFound } from './api-key-errors.ts';
import type { CreatedKey, CreateKey } from './create-key.ts';
import type { ApiKeyRepository } from './ports/api-key-repository.ts';

export type Rotation = {
  /** How long the old key stays valid beside the new one, in milliseconds, at least 0. */
  readonly overlapMs: number;
  /** When the new key expires: `null` for never; without it, it lives as long as the old one was meant to. */
  readonly expiresAt?: Date | null | undefined;
};

export type RotatedKey = CreatedKey & { readonly old: ApiKeyRecord };

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
   * The new key comes first. When the old one cannot be changed then, it stays as it is, and the new one, which nobody
   * has seen, is left in the list.
   *
   * @throws {ApiKeyNotFound}
   * @throws {ApiKeyNotActive}
   * @throws {InvalidApiKey}
   */
  async execute(id: string, { overlapMs, expiresAt }: Rotation): Promise<RotatedKey> {
    const now = this.#now();
    const before = await this.#keys.findById(id);
    if (before === undefined) throw new ApiKeyNotFound(id);
    const state = apiKeyState(before, now);
    if (state !== 'active') throw new ApiKeyNotActive(id, state);
    const { label, scopes, rateLimit } = before;
    const created = await this.#createKey.execute({
      label,
      scopes,
      rateLimit,
      expiresAt: expiresAt === undefined ? sameLifetime(before, now) : (expiresAt ?? undefined),
    });
    const old = await this.#keys.expire(id, new Date(now.getTime() + overlapMs));
    if (old === undefined) throw new ApiKeyNotFound(id);
    return { ...created, old };
  }
}

function sameLifetime({ createdAt, expiresAt }: ApiKeyRecord, now: Date): Date | undefined {
  if (expiresAt === undefined) return undefined;
  return new Date(now.getTime() + expiresAt.getTime() - createdAt.getTime());
}
