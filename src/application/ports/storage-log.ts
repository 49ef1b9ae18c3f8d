/** Takes reports for the operator from a storage whose calls succeed. */
export interface StorageLog {
  /** @param message one line without secrets and without the contents of records */
  warn(message: string): void;
}
