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

/** Something that is wrong with a storage. */
export type Finding = {
  /** Such as `pet 7`, `API key 0123456789abcdef` or `index "idem.k_1"`. */
  readonly about: string;
  /** One line, without the contents of records. */
  readonly problem: string;
};

/** Examines what holds the pets and API keys, such as the schema and the indexes. Changes nothing. */
export interface StorageInspector {
  /**
   * What is wrong, apart from the records that `PetArchive` and `ApiKeyRepository` report as damaged.
   *
   * @throws {StorageUnavailable} including when the damage prevents the examination
   */
  findings(): AsyncIterable<Finding>;
}

/** Takes reports for the operator that are not the failure of a call. */
export interface StorageLog {
  /** @param message one line without secrets and without the contents of records */
  warn(message: string): void;
}

/** The process that a storage works in. */
export interface StorageHost extends StorageLog {
  /**
   * Ends the process in this call: nothing is answered, stored or closed after it. For a storage that may no longer
   * trust its disk. The next start finds what the disk has.
   *
   * @param message one line, as for `warn`
   */
  fatal(message: string): never;
}

/** What happens to a connection of the storage, and to a call that asks for one. */
export type ConnectionEvent =
  | 'opened'
  | 'closed'
  /** A call asks for a connection, and waits until it is taken or refused. */
  | 'requested'
  | 'taken'
  | 'refused'
  | 'returned';

/** Takes figures that only the inside of a storage knows. No method throws. */
export interface StorageMeter {
  /** One commit settled `inserts` inserts: those that come together share it. */
  insertsCommitted(inserts: number): void;

  /** For a storage that keeps a pool of connections. */
  connection(event: ConnectionEvent): void;

  /** For a storage with a write-ahead log: its size, and when all of it was last moved into the database. */
  log(bytes: () => number, checkpointedAt: () => Date): void;
}
