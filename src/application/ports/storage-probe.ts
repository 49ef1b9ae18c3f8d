/** Asks whether requests that need the storage have a chance now. */
export interface StorageProbe {
  /**
   * Resolves when the storage answers and is at the schema version that this build needs.
   *
   * @throws {StorageUnavailable} otherwise, within a bounded time
   */
  check(): Promise<void>;
}
