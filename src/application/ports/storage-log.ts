/** Where a storage reports what an operator has to know although no call fails. */
export interface StorageLog {
  /** @param message one line, without secrets and without the contents of records */
  warn(message: string): void;
}
