/**
 * The storage is unreachable or cannot work now. A retry may succeed. The outcome of a write is unknown: the write was
 * not acknowledged, but may be stored.
 */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
  readonly kind = 'storage-unavailable';
  readonly fault = 'storage';
  /** The start of the outage by `performance.now()`, if known. */
  readonly sinceMs: number | undefined;

  constructor(
    message: string,
    options?: { readonly cause?: unknown; readonly sinceMs?: number | undefined },
  ) {
    super(message, options);
    this.sinceMs = options?.sinceMs;
  }
}

/**
 * Only an operator can help: the URL is invalid, the server does not exist, or this build cannot use the file or the
 * schema. An open storage throws this error when a rule that the operator added refuses a record. The message is one
 * line, says what to do, and contains no credentials and no content of a record.
 */
export class StorageSetupError extends Error {
  readonly kind = 'storage-setup';
  readonly fault = 'operator';

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message.replaceAll(/\s+/g, ' '), options);
  }
}

/**
 * The stored record breaks the rules of an API key: the record was damaged after the write, and only an operator
 * can repair it. The message contains only the id and the broken rule.
 */
export class DamagedApiKey extends Error {
  readonly kind = 'damaged-api-key';
  readonly fault = 'operator';
  readonly id: string;
  readonly problem: string;

  constructor(id: string, problem: string) {
    super(`the API key ${id} is damaged in the storage: ${problem}`);
    this.id = id;
    this.problem = problem;
  }
}

/** The schema version of every storage of the first release. Older versions cannot be migrated. */
export const FIRST_SCHEMA_VERSION = 4;

/** @param migration the advice for a storage of an earlier release, such as "run: …" */
export function versionAdvice(storage: string, version: number, needed: number, migration: string): string {
  let advice = migration;
  if (version > needed) advice = 'run a newer build of petstore';
  if (version < FIRST_SCHEMA_VERSION) {
    advice = 'no release has that version: export it with the build that made it, then import';
  }
  return `${storage} has schema version ${version}, this build needs ${needed}; ${advice}`;
}
