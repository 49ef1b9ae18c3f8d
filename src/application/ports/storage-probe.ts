export type StorageState = {
  /** The greatest id of a pet that was ever assigned, written or reserved, or 0. */
  readonly lastId: bigint;
};

/** Tells whether requests that need the storage can succeed now. */
export interface StorageProbe {
  /**
   * Resolves when the storage answers and has the schema version of this build.
   *
   * @throws {StorageUnavailable} otherwise, within a bounded time
   */
  check(): Promise<StorageState>;
}
