export type StorageState = {
  /** The greatest id that was ever assigned, written or reserved, or 0. */
  readonly lastId: bigint;
};

/** Checks whether requests that need the storage can succeed now. */
export interface StorageProbe {
  /**
   * Resolves when the storage answers and has the schema version of this build.
   *
   * @throws {StorageUnavailable} if not, within a bounded time
   */
  check(): Promise<StorageState>;
}

export type Finding = {
  /** A part such as `pet 7`, `API key 0123456789abcdef` or `index "idem.k_1"`. */
  readonly about: string;
  /** A single line, without the content of a record. */
  readonly problem: string;
};

/** Examines the structure, such as the schema and the indexes. Changes nothing. */
export interface StorageInspector {
  /**
   * All problems except damaged records, which `PetArchive` and `ApiKeyRepository` report.
   *
   * @throws {StorageUnavailable} also when damage prevents the examination
   */
  findings(): AsyncIterable<Finding>;
}

/** Logs warnings for the operator that no failed call reports. */
export interface StorageLog {
  /** @param message a single line, without secrets and without the content of a record */
  warn(message: string): void;
}

/** The process in which a storage runs. */
export interface StorageHost extends StorageLog {
  /**
   * Ends the process immediately, without another answer, write or close, because the storage can no longer trust its
   * disk. The next start reads what the disk has.
   *
   * @param message as for `warn`
   */
  fatal(message: string): never;
}

export type ConnectionEvent =
  | 'opened'
  | 'closed'
  /** A call waits for a connection until `taken` or `refused`. */
  | 'requested'
  | 'taken'
  | 'refused'
  | 'returned';

/** Receives measurements of a storage. No method throws. */
export interface StorageMeter {
  /** Called once per commit. */
  insertsCommitted(inserts: number): void;

  /** For a storage with a pool of connections. */
  connection(event: ConnectionEvent): void;

  /** For a storage with a write-ahead log: the size of the log, and the time of its last complete checkpoint. */
  log(bytes: () => number, checkpointedAt: () => Date): void;
}
