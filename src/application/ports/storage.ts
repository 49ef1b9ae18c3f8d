import type { ApiKeyRepository } from './api-key-repository.ts';
import type { PetArchive, ReadablePetArchive } from './pet-archive.ts';
import type { PetRepository } from './pet-repository.ts';
import type { OnProgress } from './progress.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { StorageLog } from './storage-log.ts';
import type { StorageProbe } from './storage-probe.ts';

type Open<Adapters> = Readonly<Adapters> & {
  /** Waits for the calls that are under way, then releases what was opened. */
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

/** What the commands on API keys work with. */
export type KeyStorage = Open<{ keys: ApiKeyRepository }>;

export type ServiceOptions = {
  readonly log: StorageLog;
  /** Bring the schema up to date where that is not done at every start anyway. */
  readonly autoMigrate: boolean;
};

/** A storage that is gone when the process ends. */
export type EphemeralStorage = {
  readonly persistent: false;

  /** @throws {StorageSetupError} */
  openForService(options: ServiceOptions): Promise<ServiceStorage>;
};

/** A storage that several processes can open, at once or one after the other. */
export type PersistentStorage = {
  readonly persistent: true;

  /** @throws {StorageSetupError} */
  openForService(options: ServiceOptions): Promise<ServiceStorage>;

  /**
   * Works while a service uses the storage.
   *
   * @throws {StorageSetupError}
   */
  openForReading(): Promise<ReadableStorage>;

  /** @throws {StorageSetupError} also when a service uses a storage that has one writer at a time */
  openForWriting(): Promise<WritableStorage>;

  /**
   * Works while a service uses the storage.
   *
   * @param options.mayCreate whether to create the storage where there is none
   * @throws {StorageSetupError}
   */
  openKeys(options: { readonly mayCreate: boolean }): Promise<KeyStorage>;

  /**
   * Brings the schema up to date. Absent where every start does that.
   *
   * @throws {StorageSetupError}
   */
  migrate?(): Promise<Migration>;

  /**
   * Copies all pets, API keys and idempotency keys to a new file, as they are at one instant after the call. Works
   * while a service uses the storage. Absent where the tools of the storage do that.
   *
   * @param path of a file that does not exist
   * @param onProgress may throw, which stops the backup and leaves no file
   * @throws {StorageSetupError} also when the storage is damaged or the file exists
   */
  backUp?(path: string, onProgress: OnProgress): Promise<void>;
};

export type Migration = {
  readonly database: string;
  /** The schema version before; `undefined` when there was no schema. */
  readonly from: number | undefined;
  readonly to: number;
};

/** A storage that is named by a URL and not yet open. */
export type Storage = EphemeralStorage | PersistentStorage;

/** A technology that pets and API keys can be stored with. */
export type StorageKind = {
  /** The form of its URLs, such as `sqlite:PATH`. */
  readonly urlForm: string;

  /** Whether its storages outlive the process. */
  readonly persistent: boolean;

  /** The storage that the URL names, or `undefined` when the URL is not of this form. Opens nothing. */
  parseUrl(url: string): Storage | undefined;
};
