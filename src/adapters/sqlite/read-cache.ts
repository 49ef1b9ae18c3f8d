import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Pet } from '../../domain/pet.ts';

/** The most pets that are kept: about 2 MB with short names, 17 MB when each name has 255 characters of four bytes. */
const MAX_PETS = 10_000;

/**
 * How long a change by another program may stay unnoticed. Without the delay, every read would look, for 2 to 8 us of
 * the 54 us of a `findById` request.
 */
const TRUSTED_MS = 100;

/**
 * Keeps the pets and the full pages that were read last. The service never changes or deletes a pet, and ids are
 * committed in ascending order, so neither ever changes. A page that is not full is not kept.
 *
 * Only an operator with another program can change a stored pet, to repair or remove it. A commit by another
 * connection empties the cache within {@link TRUSTED_MS}.
 */
export class ReadCache {
  readonly #dataVersion: StatementSync;
  readonly #found = new Map<bigint | string, readonly Pet[]>();
  #pets = 0;
  #version = 0;
  /** On the clock of `performance.now()`. */
  #trustedUntil = -Infinity;

  constructor(db: DatabaseSync) {
    // Changes with the commits of other connections only: https://www.sqlite.org/pragma.html#pragma_data_version
    this.#dataVersion = db.prepare('PRAGMA data_version', { readBigInts: false, returnArrays: true });
  }

  /**
   * @param key the id of a pet, or the text of a query
   * @throws the error of SQLite
   */
  get(key: bigint | string): readonly Pet[] | undefined {
    if (performance.now() >= this.#trustedUntil) this.#forgetChanged();
    return this.#found.get(key);
  }

  /** Call it in the turn of the `get` that found nothing, with what was read since then. */
  add(key: bigint | string, pets: readonly Pet[]): void {
    if (this.#pets + pets.length > MAX_PETS) this.clear();
    this.#found.set(key, pets);
    this.#pets += pets.length;
  }

  /** Call it before this connection writes pets with ids that need not be the greatest. */
  clear(): void {
    this.#found.clear();
    this.#pets = 0;
  }

  #forgetChanged(): void {
    const [version] = this.#dataVersion.get() as unknown as readonly [number];
    if (version !== this.#version) this.clear();
    this.#version = version;
    this.#trustedUntil = performance.now() + TRUSTED_MS;
  }
}
