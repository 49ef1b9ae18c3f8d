import type { ApiKeyRepository } from './api-key-repository.ts';
import type { OnProgress, PetArchive, ReadablePetArchive } from './pet-archive.ts';
import type { PetRepository } from './pet-repository.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { StorageHost, StorageInspector, StorageMeter, StorageProbe } from './storage-health.ts';

type Open<Adapters> = Readonly<Adapters> & {
  /** Releases what was opened. May be called again. Call it when no call is under way: an adapter may abort one. */
  close(): Promise<void>;
};

/** The ports that a service works with. */
export type ServicePorts = {
  readonly pets: PetRepository;
  readonly keys: ApiKeyRepository;
  readonly probe: StorageProbe;
  /**
   * Counts for all services that share the storage. Required where services may share it: without a common one, each
   * service would grant the whole limit.
   */
  readonly limiter?: RateLimiter;
};

export type ServiceStorage = Open<ServicePorts> & {
  /** Reads the certificates of its connections again, for new connections. Logs the outcome. */
  renewCertificates?(): Promise<void>;
};

export type ServiceOptions = {
  readonly log: StorageHost;
  /** Absent when nothing is measured. */
  readonly meter?: StorageMeter;
  /** Whether to bring the schema up to date. A storage that does so at every start of a service ignores it. */
  readonly autoMigrate: boolean;
};

/** For `export` and the source side of `copy`. */
export type ReadableStorage = Open<{ archive: ReadablePetArchive; keys: Pick<ApiKeyRepository, 'list'> }>;

/** For `check`. */
export type CheckableStorage = ReadableStorage & { readonly inspector: StorageInspector };

/** For `import` and the target side of `copy`. */
export type WritableStorage = Open<{ archive: PetArchive; keys: ApiKeyRepository }>;

export type KeyStorage = Open<{ keys: ApiKeyRepository }>;

export type KeyOptions = {
  readonly log: StorageHost;
  /** Whether to create a missing storage. */
  readonly mayCreate: boolean;
};

export type Migration = {
  readonly database: string;
  /** The schema version before; `undefined` when there was no schema. */
  readonly from: number | undefined;
  readonly to: number;
  /** What else was done, or why nothing was. Completes a sentence. */
  readonly note?: string;
};

/** A technology that stores pets and API keys. Everything that the program says and decides about it is here. */
export interface StorageKind {
  /** For people. */
  readonly name: string;
  /** Its name in traces: https://opentelemetry.io/docs/specs/semconv/db/database-spans/ */
  readonly system: string;
  /** The form of its URLs, such as `sqlite:PATH`. */
  readonly urlForm: string;
  /** What somebody who chooses it must know. Completes a sentence that begins with the form of its URLs. */
  readonly caution?: string;

  /** Whether its storages outlive the process. Commands reach only such a storage. */
  readonly persistent: boolean;
  /** Whether several services may use one storage at once. */
  readonly shared: boolean;

  /** Whether the URL is of this kind. */
  isUrl(url: string): boolean;

  /** Whether the URL names files of certificates, which `renewCertificates` of a service reads again. */
  hasCertificates?(url: string): boolean;

  /**
   * What is wrong with a URL that looks like one of this kind. Completes a sentence that begins with the name of a
   * variable or an option, and quotes no part of the URL, which may be a password.
   */
  urlProblem?(url: string): string | undefined;

  // Each opens a storage with a URL of this kind.
  // Each throws a StorageSetupError when only an operator can help, and a StorageUnavailable when a retry may succeed.

  /** For a service, until the service stops. */
  openService(url: string, options: ServiceOptions): Promise<ServiceStorage>;

  /** Works while a service uses the storage. */
  openForReading(url: string): Promise<ReadableStorage>;

  /** To examine it. Refuses no damage that leaves something to read. Writes nothing, and works beside a service. */
  openForChecking(url: string): Promise<CheckableStorage>;

  /** Creates a missing storage. Refuses one that a service uses, if it allows one writer at a time. */
  openForWriting(url: string, log: StorageHost): Promise<WritableStorage>;

  /** To manage API keys. Works while a service uses the storage. */
  openKeys(url: string, options: KeyOptions): Promise<KeyStorage>;

  /**
   * Brings the schema up to date. Refuses a storage that a service uses, if it allows one writer at a time. Absent from a
   * storage without a schema.
   *
   * @throws {StorageSetupError}
   */
  migrate?(url: string, log: StorageHost): Promise<Migration>;

  /**
   * Copies all pets, API keys and idempotency keys to a new file, as they are at one instant after the call. Works
   * while a service uses the storage, and with every schema version. Absent from a storage that comes with backup tools.
   *
   * @param path of a file that does not exist
   * @param onProgress may throw to stop the backup, which then leaves no file
   * @throws {StorageSetupError} including when the storage is damaged or the file exists
   */
  backUp?(url: string, path: string, onProgress: OnProgress): Promise<void>;

  /**
   * Puts a backup where there is no storage yet. Absent from a storage that comes with restore tools.
   *
   * @param backup the path of a file that `backUp` has written. Its schema version stays as it is
   * @param onProgress may throw to stop, which then changes nothing
   * @returns the last id that no new pet gets
   * @throws {StorageSetupError} including when the backup is damaged, and when there is a storage
   */
  restore?(url: string, backup: string, onProgress: OnProgress): Promise<bigint>;

  /** The tools for what it lacks a method for. */
  readonly tools?: { readonly backUp: string; readonly restore: string };
}

/** A storage that is named by a URL and not yet open. */
export type Storage = { readonly kind: StorageKind; readonly url: string };
