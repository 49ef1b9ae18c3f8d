import type { ApiKeyRepository } from './api-key-repository.ts';
import type { OnProgress, PetArchive, ReadablePetArchive } from './pet-archive.ts';
import type { PetRepository } from './pet-repository.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { StorageHost, StorageInspector, StorageMeter, StorageProbe } from './storage-health.ts';

type Open<Adapters> = Readonly<Adapters> & {
  /** Call `close` after all other calls have ended: an adapter may abort a call. A second `close` does nothing. */
  close(): Promise<void>;
};

export type ServicePorts = {
  readonly pets: PetRepository;
  readonly keys: ApiKeyRepository;
  readonly probe: StorageProbe;
  /** Required for a shared storage: without shared counts, each service would grant the whole limit. */
  readonly limiter?: RateLimiter;
};

export type ServiceStorage = Open<ServicePorts> & {
  /** Reads the certificates again, for new connections. Logs the outcome. */
  renewCertificates?(): Promise<void>;
};

export type ServiceOptions = {
  readonly log: StorageHost;
  readonly meter?: StorageMeter;
  /** Whether to migrate the schema. A storage that always migrates at the start ignores this option. */
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
  readonly mayCreate: boolean;
};

export type Migration = {
  readonly database: string;
  /** The schema version before the migration; `undefined` without a schema. */
  readonly from: number | undefined;
  readonly to: number;
  /** What else to do, or why nothing was done. Completes a sentence. */
  readonly note?: string;
};

/** A database technology, and everything that the program says and decides about it. */
export interface StorageKind {
  /** The name in texts for people. */
  readonly name: string;
  /** The name in traces: https://opentelemetry.io/docs/specs/semconv/db/database-spans/ */
  readonly system: string;
  /** Such as `sqlite:PATH`. */
  readonly urlForm: string;
  /** A warning for operators. Completes a sentence that begins with `urlForm`. */
  readonly caution?: string;

  /** Whether the data outlives the process. Commands need such a storage. */
  readonly persistent: boolean;
  /** Whether several services may use a storage at the same time. */
  readonly shared: boolean;

  isUrl(url: string): boolean;

  /** Whether the URL names files of certificates, see `renewCertificates`. */
  hasCertificates?(url: string): boolean;

  /**
   * The problem of a URL of this kind. Completes a sentence that begins with the name of a variable or an option.
   * Quotes no part of the URL, which may contain a password.
   */
  urlProblem?(url: string): string | undefined;

  // Each of these methods opens a storage.
  // Each throws a StorageSetupError when only an operator can help, and a StorageUnavailable when a retry may succeed.

  /** For a service, which closes the storage when the service stops. */
  openService(url: string, options: ServiceOptions): Promise<ServiceStorage>;

  /** Works while a service uses the storage. */
  openForReading(url: string): Promise<ReadableStorage>;

  /** Also opens a damaged storage, if a part is readable. Writes nothing. Works while a service uses the storage. */
  openForChecking(url: string): Promise<CheckableStorage>;

  /** Creates a missing storage. Refuses a storage for only one writer while a service uses that storage. */
  openForWriting(url: string, log: StorageHost): Promise<WritableStorage>;

  /** Works while a service uses the storage. */
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
   * Makes a storage from a backup, with the schema version of the backup.
   *
   * @param backup a file that `backUp` has written
   * @param onProgress may throw to stop the restore, which then changes nothing
   * @returns the last skipped id: new pets are assigned greater ids
   * @throws {StorageSetupError} also when the backup is damaged, or a storage exists
   */
  restore?(url: string, backup: string, onProgress: OnProgress): Promise<bigint>;

  /** The tools that replace `backUp` and `restore`, if these methods are absent. */
  readonly tools?: { readonly backUp: string; readonly restore: string };
}

/** A storage that is not open yet. */
export type Storage = { readonly kind: StorageKind; readonly url: string };
