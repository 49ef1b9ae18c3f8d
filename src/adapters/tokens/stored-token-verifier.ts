import { timingSafeEqual } from 'node:crypto';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { Caller, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { apiKeyState } from '../../domain/api-key.ts';
import { digestOf, idOf } from './token.ts';

/** For how long a key that was valid is taken to be so without asking, in milliseconds: a revocation is as late. */
const REMEMBERED_MS = 5_000;

/** How many keys are remembered at most. */
const REMEMBERED_KEYS = 10_000;

/** Compared with where there is no key, so that it takes as long as where there is one. SHA-256 of no known text. */
const NO_DIGEST = '0'.repeat(64);

type Remembered = { readonly key: Caller; readonly expiresAt: Date | undefined; readonly until: number };

/** Knows the keys in the storage. */
export class StoredTokenVerifier implements TokenVerifier {
  readonly #keys: Pick<ApiKeyRepository, 'findById' | 'recordUse'>;
  readonly #now: () => Date;
  // By the digest of the whole key: whoever has only its id finds out nothing here, not even by the time it takes.
  readonly #remembered = new Map<string, Remembered>();
  #uses = new Map<string, Date>();

  constructor(keys: Pick<ApiKeyRepository, 'findById' | 'recordUse'>, now: () => Date) {
    this.#keys = keys;
    this.#now = now;
  }

  async verify(token: string): Promise<Caller | undefined> {
    const digest = digestOf(token);
    const key = this.#recall(digest) ?? (await this.#ask(token, digest));
    if (key !== undefined) this.#uses.set(key.id, this.#now());
    return key;
  }

  /** Writes down which keys have been used. What could not be written is kept for the next time. */
  async recordUses(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#keys.recordUse(uses);
    } catch (error) {
      this.#uses = new Map([...uses, ...this.#uses]);
      throw error;
    }
  }

  #recall(digest: string): Caller | undefined {
    const remembered = this.#remembered.get(digest);
    if (remembered === undefined) return undefined;
    const { key, expiresAt, until } = remembered;
    if (performance.now() < until && (expiresAt === undefined || this.#now() < expiresAt)) return key;
    this.#remembered.delete(digest);
    return undefined;
  }

  async #ask(token: string, digest: string): Promise<Caller | undefined> {
    const id = idOf(token);
    if (id === undefined) return undefined;
    // Before the question, because a revocation may overtake the answer.
    const until = performance.now() + REMEMBERED_MS;
    const record = await this.#keys.findById(id);
    // All of it is done for every key, so that the time does not tell which it was that failed.
    const isRight = timingSafeEqual(bytes(record?.digest ?? NO_DIGEST), bytes(digest));
    const isActive = apiKeyState(record ?? {}, this.#now()) === 'active';
    if (record === undefined || !isRight || !isActive) return undefined;
    const { label, scopes, rateLimit, expiresAt } = record;
    const key = { id, label, scopes, ...(rateLimit !== undefined && { rateLimit }) };
    this.#remember(digest, { key, expiresAt, until });
    return key;
  }

  #remember(digest: string, key: Remembered): void {
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size >= REMEMBERED_KEYS && oldest !== undefined) this.#remembered.delete(oldest);
    this.#remembered.set(digest, key);
  }
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}
