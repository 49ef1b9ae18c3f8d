import type { Scope } from '../../domain/api-key.ts';
import type { RateLimit } from '../../domain/rate-limit.ts';

/** The sender of a request, known by a valid API key. Contains no secret. */
export type Caller = {
  /** Identifies the API key among all keys of the service, for as long as the key lives. */
  readonly id: string;
  /** The id that its idempotency keys belong to, where that is another one: see `NewApiKey`. */
  readonly originId?: string | undefined;
  /** A name for people. */
  readonly label: string;
  readonly scopes: readonly Scope[];
  /** Replaces the rate limit of the service for this caller. */
  readonly rateLimit?: RateLimit | undefined;
};

/** Why a token is not valid. Only for operators: to clients, all refusals look the same. */
export type TokenRefusal =
  /** No key has this token. */
  'unknown' | 'expired' | 'revoked';

/** Verifies API keys. `test/contracts/token-verifier.ts` tests every adapter against these comments. */
export interface TokenVerifier {
  /**
   * The caller whose key this bearer token is, or `undefined` unless the key is valid now. The time that it takes
   * reveals nothing about a wrong token. A storage holds only SHA-256 digests, never tokens. A verifier may keep the tokens
   * that it has accepted in memory.
   *
   * @throws {StorageUnavailable} when the key cannot be checked now
   * @throws {DamagedApiKey} when the record of the key is damaged; the key is not valid
   */
  verify(token: string): Promise<Caller | undefined>;
}

/** What is in a token. Only an adapter knows its form and its hash. */
export interface TokenForm {
  /** The id of the key, or `undefined` when the text is no token. */
  idOf(token: string): string | undefined;

  /** Whether this is the SHA-256 digest of the token. Takes the same time for every digest, and for none. */
  hasDigest(token: string, digest: string | undefined): boolean;
}
