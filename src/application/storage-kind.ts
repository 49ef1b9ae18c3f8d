import type { ApiKeyRepository } from './ports/api-key-repository.ts';
import type { OnProgress, PetArchive, ReadablePetArchive } from './ports/pet-archive.ts';
import type { PetRepository } from './ports/pet-repository.ts';
import type { RateLimiter } from './ports/rate-limiter.ts';
import type { StorageHost, StorageInspector, StorageMeter, StorageProbe } from './ports/storage-health.ts';

type Open<Adapters> = Readonly<Adapters> & {
  /** Releases what was opened. May be called again. Call it when no call is under way: an adapter may abort one. */
  close(): Promise<void>;
};

/**
 * What a service works with. Where services share the storage, its limiter counts for all of them. Without one, each
 * service would grant the whole limit.
 */
export type ServiceStorage<Shared extends boolean = boolean> = Open<{
  pets: PetRepository;
  keys: ApiKeyRepository;
  probe: StorageProbe;
}> &
  (Shared extends true ? { readonly limiter: RateLimiter } : { readonly limiter?: RateLimiter });

export type ServiceOptions = {
  readonly log: StorageHost;
  /** Absent when nothing is measured. */
  readonly meter?: StorageMeter;
  /** Whether to bring the schema up to date. A storage that does so at every start ignores it. */
  readonly autoMigrate: boolean;
};

/** What a storage is opened for, with what the purpose needs. */
export type Purpose =
  | (ServiceOptions & { readonly for: 'service' })
  /** Works while a service uses the storage. */
  | { readonly for: 'reading' }
  /** To examine it. Refuses no damage that leaves something to read. Writes nothing, and works beside a service. */
  | { readonly for: 'checking' }
  /** Refuses a storage that a service uses, if it allows one writer at a time. */
  | { readonly for: 'writing'; readonly log: StorageHost }
  /** To manage API keys. Works while a service uses the storage. `mayCreate`: whether to create a missing storage. */
  | { readonly for: 'keys'; readonly mayCreate: boolean; readonly log: StorageHost };

/** What is opened for each purpose. */
export type Opened<Shared extends boolean = boolean> = {
  service: ServiceStorage<Shared> & {
    /** Reads the certificates of its connections again, for new connections. Logs the outcome. */
    renewCertificates?(): Promise<void>;
  };
  /** For `export` and the source side of `copy`. */
  reading: Open<{ archive: ReadablePetArchive; keys: Pick<ApiKeyRepository, 'list'> }>;
  /** For `check`. */
  checking: Opened['reading'] & { readonly inspector: StorageInspector };
  /** For `import` and the target side of `copy`. */
  writing: Open<{ archive: PetArchive; keys: ApiKeyRepository }>;
  keys: Open<{ keys: ApiKeyRepository }>;
};

export type Migration = {
  readonly database: string;
  /** The schema version before; `undefined` when there was no schema. */
  readonly from: number | undefined;
  readonly to: number;
};

/** What an operator must do with a storage that has another schema version than this build needs. */
export function versionAdvice(storage: string, version: number, needed: number): string {
  const advice =
    version < needed
      ? 'a build that was never released made it: export it with that build, then import'
      : 'run a newer build of petstore';
  return `${storage} has schema version ${version}, this build needs ${needed}; ${advice}`;
}

/** A technology that stores pets and API keys. Everything that the program says and decides about it is here. */
export type StorageKind<Shared extends boolean = boolean> = {
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
  readonly shared: Shared;

  /** Whether the URL is of this kind. */
  isUrl(url: string): boolean;

  /** Whether the URL names files of certificates, which `renewCertificates` of a service reads again. */
  hasCertificates?(url: string): boolean;

  /**
   * What is wrong with a URL that looks like one of this kind. Completes a sentence that begins with the name of a
   * variable or an option, and quotes no part of the URL, which may be a password.
   */
  urlProblem?(url: string): string | undefined;

  /**
   * Opens a storage.
   *
   * @param url of this kind
   * @throws {StorageSetupError}
   * @throws {StorageUnavailable}
   */
  open<P extends Purpose>(url: string, purpose: P): Promise<Opened<Shared>[P['for']]>;

  /**
   * Brings the schema up to date. Absent from a storage that does so at every start.
   *
   * @throws {StorageSetupError}
   */
  migrate?(url: string): Promise<Migration>;

  /**
   * Copies all pets, API keys and idempotency keys to a new file, as they are at one instant after the call. Works
   * while a service uses the storage. Absent from a storage that comes with backup tools.
   *
   * @param path of a file that does not exist
   * @param onProgress may throw to stop the backup, which then leaves no file
   * @throws {StorageSetupError} including when the storage is damaged or the file exists
   */
  backUp?(url: string, path: string, onProgress: OnProgress): Promise<void>;

  /**
   * Puts a backup where there is no storage yet. Absent from a storage that comes with restore tools.
   *
   * @param backup the path of a file that `backUp` has written
   * @param onProgress may throw to stop, which then changes nothing
   * @throws {StorageSetupError} including when the backup is damaged, and when there is a storage
   */
  restore?(url: string, backup: string, onProgress: OnProgress): Promise<void>;

  /** The tools for what it lacks a method for. */
  readonly tools?: { readonly backUp: string; readonly restore: string };
};

/** A storage that is named by a URL and not yet open. */
export type Storage = { readonly kind: StorageKind; readonly url: string };
