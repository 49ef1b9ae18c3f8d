import type { ApiKeyRepository } from './api-key-repository.ts';
import type { OnProgress, PetArchive, ReadablePetArchive } from './pet-archive.ts';
import type { PetRepository } from './pet-repository.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { StorageInspector, StorageLog, StorageMeter, StorageProbe } from './storage-health.ts';

type Open<Adapters> = Readonly<Adapters> & {
  /** Releases what was opened. May be called again. Call it when no call is under way: an adapter may abort one. */
  close(): Promise<void>;
};

/** What a service works with. */
export type ServiceStorage = Open<{
  pets: PetRepository;
  keys: ApiKeyRepository;
  probe: StorageProbe;
  /** Counts for all services that share the storage. Absent where only one service can open it. */
  limiter?: RateLimiter;
}>;

/** What `export` and the source side of `copy` work with. */
export type ReadableStorage = Open<{ archive: ReadablePetArchive; keys: Pick<ApiKeyRepository, 'list'> }>;

/** What `import` and the target side of `copy` work with. */
export type WritableStorage = Open<{ archive: PetArchive; keys: ApiKeyRepository }>;

/** What `check` works with. */
export type CheckableStorage = Open<{
  archive: ReadablePetArchive;
  keys: Pick<ApiKeyRepository, 'list'>;
  inspector: StorageInspector;
}>;

/** What the commands on API keys work with. */
export type KeyStorage = Open<{ keys: ApiKeyRepository }>;

export type ServiceOptions = {
  readonly log: StorageLog;
  /** Absent when nothing is measured. */
  readonly meter?: StorageMeter;
  /** Whether to bring the schema up to date. A storage that does so at every start ignores it. */
  readonly autoMigrate: boolean;
};

/** A storage whose contents are gone when the process ends. */
export type EphemeralStorage = {
  readonly persistent: false;

  /**
   * @throws {StorageSetupError}
   * @throws {StorageUnavailable}
   */
  openForService(options: ServiceOptions): Promise<ServiceStorage>;
};

/** A storage that several processes can open, at once or one after the other. */
export type PersistentStorage = {
  readonly persistent: true;

  /** Whether several services may use it at once. */
  readonly shared: boolean;

  /**
   * @throws {StorageSetupError}
   * @throws {StorageUnavailable}
   */
  openForService(options: ServiceOptions): Promise<ServiceStorage>;

  /**
   * Works while a service uses the storage.
   *
   * @throws {StorageSetupError}
   */
  openForReading(): Promise<ReadableStorage>;

  /**
   * Opens the storage to examine it. Refuses no damage that leaves something to read. Writes nothing, and works while a
   * service uses the storage. Absent from a storage that cannot be examined.
   *
   * @throws {StorageSetupError}
   */
  openForChecking?(): Promise<CheckableStorage>;

  /**
   * @throws {StorageSetupError} including when a service uses a storage that allows one writer at a time
   * @throws {StorageUnavailable}
   */
  openForWriting(): Promise<WritableStorage>;

  /**
   * Works while a service uses the storage.
   *
   * @param options.mayCreate whether to create a missing storage
   * @throws {StorageSetupError}
   * @throws {StorageUnavailable}
   */
  openKeys(options: { readonly mayCreate: boolean }): Promise<KeyStorage>;

  /**
   * Brings the schema up to date. Absent from a storage that does so at every start.
   *
   * @throws {StorageSetupError}
   */
  migrate?(): Promise<Migration>;

  /**
   * Copies all pets, API keys and idempotency keys to a new file, as they are at one instant after the call. Works
   * while a service uses the storage. Absent from a storage that comes with backup tools.
   *
   * @param path of a file that does not exist
   * @param onProgress may throw to stop the backup, which then leaves no file
   * @throws {StorageSetupError} including when the storage is damaged or the file exists
   */
  backUp?(path: string, onProgress: OnProgress): Promise<void>;

  /**
   * Puts a backup in the place of everything in the storage. Absent from a storage that comes with restore tools.
   *
   * @param backup the path of a file that `backUp` has written
   * @param onProgress may throw to stop, which then changes nothing
   * @returns the path of what was replaced, and is kept; `undefined` when there was nothing
   * @throws {StorageSetupError} including when the backup is damaged or a service uses the storage
   */
  restore?(backup: string, onProgress: OnProgress): Promise<string | undefined>;
};

export type Migration = {
  readonly database: string;
  /** The schema version before; `undefined` when there was no schema. */
  readonly from: number | undefined;
  readonly to: number;
};

/** A storage that is named by a URL and not yet open. */
export type Storage = EphemeralStorage | PersistentStorage;

/** A technology that stores pets and API keys. */
export type StorageKind = {
  /** The form of its URLs, such as `sqlite:PATH`. */
  readonly urlForm: string;

  /** Whether its storages outlive the process. */
  readonly persistent: boolean;

  /** The storage that the URL names, or `undefined` when the URL is not of this form. Opens nothing. */
  parseUrl(url: string): Storage | undefined;
};
