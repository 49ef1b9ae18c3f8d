import type { Scope } from '../../domain/api-key.ts';
import type { RateLimit } from '../../domain/rate-limit.ts';

/** The sender of a request with a valid API key. Contains no secret. */
export type Caller = {
  /** The id of the API key: unique among all keys of the service. */
  readonly id: string;
  /** For a successor: see `NewApiKey`. */
  readonly originId?: string | undefined;
  readonly label: string;
  readonly scopes: readonly Scope[];
  /** Replaces the rate limit of the service for this caller. */
  readonly rateLimit?: RateLimit | undefined;
};

/** Why a token was refused. `unknown`: no key has the token. Clients cannot see the reason. */
export type TokenRefusal = 'unknown' | 'expired' | 'revoked';

/** `test/contracts/token-verifier.ts` tests every adapter against these comments. */
export interface TokenVerifier {
  /**
   * The caller with this bearer token, or `undefined` if the key is not valid now. The duration of a call tells an
   * attacker nothing about valid tokens. A storage contains only SHA-256 digests, never tokens. A verifier may keep
   * accepted tokens in memory.
   *
   * @throws {StorageUnavailable} when the key cannot be checked now
   * @throws {DamagedApiKey} when the record of the key is damaged; the key is not valid
   */
  verify(token: string): Promise<Caller | undefined>;
}

/** Reads and compares tokens, because only an adapter knows the form and the hash of a token. */
export interface TokenForm {
  /** The id of the key, or `undefined` for a text that is no token. */
  idOf(token: string): string | undefined;

  /** Whether the token has this SHA-256 digest. Takes the same time for every `digest`, also for `undefined`. */
  hasDigest(token: string, digest: string | undefined): boolean;
}
