/** Who sent a request. */
export type ApiKey = {
  /** Tells the key from every other, now and later; never the key or a part of it. */
  readonly id: string;
  /** A name for logs; never the key or a part of it. */
  readonly label: string;
};

/** Knows the API keys. `test/contracts/token-verifier.ts` holds every adapter to what is written here. */
export interface TokenVerifier {
  /**
   * The key that the bearer token is, or `undefined` when it is none. How long that takes says nothing about
   * how near a wrong token came. A verifier keeps no key, only SHA-256 digests.
   *
   * @throws {StorageUnavailable} when it cannot be known now
   */
  verify(token: string): Promise<ApiKey | undefined>;
}
