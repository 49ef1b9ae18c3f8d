/**
 * The storage cannot be reached or cannot work now. A retry may succeed. The outcome of a write is unknown: it was not
 * acknowledged, but it may have happened.
 */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
  readonly kind = 'storage-unavailable';
  readonly fault = 'storage';
  /** Since when it has not been available, on the clock of `performance.now()`, if that is known. */
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
 * The storage cannot be opened or set up, and only an operator can help: a bad URL, no server, or a file or schema that
 * does not fit. Also while the storage is open, when an operator has added a rule that refuses a record. The message is
 * one line that says what to do. It contains no credentials, and nothing of a record.
 */
export class StorageSetupError extends Error {
  readonly kind = 'storage-setup';
  readonly fault = 'operator';

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message.replaceAll(/\s+/g, ' '), options);
  }
}

/**
 * The stored record of an API key breaks the rules of a key: it was damaged after it was written, and only an operator
 * can repair it. The key is not valid. The message never contains the value of a field.
 */
export class DamagedApiKey extends Error {
  readonly kind = 'damaged-api-key';
  readonly fault = 'operator';
  readonly id: string;
  readonly problem: string;

  /** @param problem a phrase such as "label must be …" */
  constructor(id: string, problem: string) {
    super(`the API key ${id} is damaged in the storage: ${problem}`);
    this.id = id;
    this.problem = problem;
  }
}

/** The schema version of the first release, in every storage. Steps lead from it to each later one. */
export const FIRST_SCHEMA_VERSION = 4;

/**
 * What an operator must do with a storage that has another schema version than this build needs.
 *
 * @param migration what brings a storage of an earlier release up to date, as a phrase such as "run: …"
 */
export function versionAdvice(storage: string, version: number, needed: number, migration: string): string {
  let advice = migration;
  if (version > needed) advice = 'run a newer build of petstore';
  if (version < FIRST_SCHEMA_VERSION) {
    advice = 'no release has that version: export it with the build that made it, then import';
  }
  return `${storage} has schema version ${version}, this build needs ${needed}; ${advice}`;
}
