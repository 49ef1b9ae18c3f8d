import type { ApiKeyRepository } from './api-key-repository.ts';
import type { OnProgress, PetArchive, ReadablePetArchive } from './pet-archive.ts';
import type { PetRepository } from './pet-repository.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { StorageHost, StorageInspector, StorageMeter, StorageProbe } from './storage-health.ts';

type Open<Adapters> = Readonly<Adapters> & {
  /** Call `close` after all other calls have ended, because `close` may abort a call. A second `close` does nothing. */
  close(): Promise<void>;
};

export type ServicePorts = {
  readonly pets: PetRepository;
  readonly keys: ApiKeyRepository;
  readonly probe: StorageProbe;
  /** Required for a shared storage: without shared counts, each service would admit the whole limit. */
  readonly limiter?: RateLimiter;
};

export type ServiceStorage = Open<ServicePorts> & {
  /** Reads the certificate files again, for new connections. Logs the outcome. */
  renewCertificates?(): Promise<void>;
};

export type ServiceOptions = {
  readonly log: StorageHost;
  readonly meter?: StorageMeter;
  /** Whether to migrate an old schema at the start. A storage that always migrates ignores this option. */
  readonly autoMigrate: boolean;
};

/** For `export` and as the source of `copy`. */
export type ReadableStorage = Open<{ archive: ReadablePetArchive; keys: Pick<ApiKeyRepository, 'list'> }>;

export type CheckableStorage = ReadableStorage & { readonly inspector: StorageInspector };

/** For `import` and as the target of `copy`. */
export type WritableStorage = Open<{ archive: PetArchive; keys: ApiKeyRepository }>;

export type KeyStorage = Open<{ keys: ApiKeyRepository }>;

export type KeyOptions = {
  readonly log: StorageHost;
  /** Whether to create a missing storage. */
  readonly mayCreate: boolean;
};

export type Migration = {
  readonly database: string;
  /** The schema version before the migration; `undefined` without a schema. */
  readonly from: number | undefined;
  readonly to: number;
  /** What else was done, or why nothing was done, as a phrase. */
  readonly note?: string;
};

/** A database technology: its properties, its texts, and how to open its storages. */
export interface StorageKind {
  /** The name in texts for people. */
  readonly name: string;
  /** The name in traces: https://opentelemetry.io/docs/specs/semconv/db/database-spans/ */
  readonly system: string;
  /** Such as `sqlite:PATH`. */
  readonly urlForm: string;
  /** A warning for operators, as a phrase that follows `urlForm`. */
  readonly caution?: string;

  /** Whether the data outlives the process. Commands need such a storage. */
  readonly persistent: boolean;
  /** Whether several services may use a storage at the same time. */
  readonly shared: boolean;

  isUrl(url: string): boolean;

  /** Whether the URL names certificate files: see `renewCertificates`. */
  hasCertificates?(url: string): boolean;

  /**
   * The problem of a URL, as a phrase that follows the name of a variable or option. Quotes no part of a URL that may
   * contain a password.
   */
  urlProblem?(url: string): string | undefined;

  // Each of the following methods opens a storage. openForReading, openForChecking and openKeys work while a service
  // uses the storage.
  // Each throws a StorageSetupError when only an operator can help, and a StorageUnavailable when a retry may succeed.

  openService(url: string, options: ServiceOptions): Promise<ServiceStorage>;

  openForReading(url: string): Promise<ReadableStorage>;

  /** Also opens a damaged storage, if a part is readable. Writes nothing. */
  openForChecking(url: string): Promise<CheckableStorage>;

  /** Creates a missing storage. Refuses a storage that is not `shared` while a service uses that storage. */
  openForWriting(url: string, log: StorageHost): Promise<WritableStorage>;

  openKeys(url: string, options: KeyOptions): Promise<KeyStorage>;

  /** Refuses the same storages as {@link openForWriting}. Absent for a storage without a schema. */
  migrate?(url: string, log: StorageHost): Promise<Migration>;

  /**
   * Copies all pets, API keys and idempotency keys to a new file, as they are at one instant after the call. Works
   * while a service uses the storage, and with every schema version.
   *
   * @param onProgress may throw to stop the backup, which then leaves no file
   * @throws {StorageSetupError} also when the storage is damaged or the file exists
   */
  backUp?(url: string, path: string, onProgress: OnProgress): Promise<void>;

  /**
   * Makes a storage from a file that `backUp` has written, with the same schema version.
   *
   * @param onProgress may throw to stop the restore, which then changes nothing
   * @returns the last skipped id (see `SKIPPED_PET_IDS`): new pets are assigned greater ids
   * @throws {StorageSetupError} also when the backup is damaged, or the storage already exists
   */
  restore?(url: string, backup: string, onProgress: OnProgress): Promise<bigint>;

  /** The tools that replace `backUp` and `restore`, if these methods are absent. */
  readonly tools?: { readonly backUp: string; readonly restore: string };
}

/** A storage that is not open yet. */
export type Storage = { readonly kind: StorageKind; readonly url: string };
