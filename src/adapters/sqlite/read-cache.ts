import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import type { Pet } from '../../domain/pet.ts';

/**
 * The most pets that are kept, and the most keys that were read once. Together about 3 MB with short names, and 18 MB
 * when every name has 255 characters of four bytes.
 */
const MAX_PETS = 10_000;

/** How long a change by another program may stay unnoticed. Without the delay, every read would look for one. */
const TRUSTED_MS = 100;

/**
 * Keeps pets and full pages that were read more than once. The service never changes or deletes a pet, and ids are
 * committed in ascending order, so neither ever changes. A page that is not full is not kept.
 *
 * Only an operator with another program can change a stored pet, to repair or remove it. A commit by another
 * connection empties the cache within {@link TRUSTED_MS}.
 */
export class ReadCache {
  readonly #dataVersion: StatementSync;
  readonly #found = new Map<bigint | string, WhilePetsNeverChange<readonly Pet[]>>();
  readonly #readOnce = new Set<bigint | string>();
  #pets = 0;
  #version = 0n;
  /** On the clock of `performance.now()`. */
  #trustedUntil = -Infinity;

  constructor(db: DatabaseSync) {
    // Changes with the commits of other connections only: https://www.sqlite.org/pragma.html#pragma_data_version
    this.#dataVersion = db.prepare('PRAGMA data_version', { returnArrays: true });
  }

  /**
   * @param key the id of a pet, or the text of a query
   * @throws the error of SQLite
   */
  get(key: bigint | string): readonly Pet[] | undefined {
    if (performance.now() >= this.#trustedUntil) this.#forgetChanged();
    return this.#found.get(key);
  }

  /**
   * Keeps what is read for the second time. A client that walks the catalogue reads each page once: keeping it would
   * drive out the others. Call it in the turn of the `get` that found nothing.
   */
  add(key: bigint | string, pets: readonly Pet[]): void {
    if (this.#readOnce.size >= MAX_PETS) this.#readOnce.clear();
    if (!this.#readOnce.delete(key)) {
      this.#readOnce.add(key);
      return;
    }
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
    const [version] = this.#dataVersion.get() as unknown as readonly [bigint];
    if (version !== this.#version) this.clear();
    this.#version = version;
    this.#trustedUntil = performance.now() + TRUSTED_MS;
  }
}
