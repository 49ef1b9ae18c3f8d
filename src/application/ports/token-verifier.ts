import type { RateLimit, Scope } from '../../domain/api-key.ts';

/** Who sent a request. */
export type Caller = {
  /**
   * Tells the key from every other, as long as whoever configures keys keeps their ids. Public: never the key or a part
   * of what is secret in it.
   */
  readonly id: string;
  /** A name for people; public as well. */
  readonly label: string;
  /** What the key may be used for. */
  readonly scopes: readonly Scope[];
  /** Instead of the one that the service has for all keys. */
  readonly rateLimit?: RateLimit;
};

/** Knows the API keys. `test/contracts/token-verifier.ts` holds every adapter to what is written here. */
export interface TokenVerifier {
  /**
   * The key that the bearer token is, or `undefined` when it is none that is valid now. How long that takes says
   * nothing about how near a wrong token came. A verifier keeps no key, only SHA-256 digests.
   *
   * @throws {StorageUnavailable} when it cannot be known now
   * @throws {DamagedApiKey} when what is held of the key is none any more; it is not valid
   */
  verify(token: string): Promise<Caller | undefined>;
}
