import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import type { Pet } from '../../domain/pet.ts';

/** The most pets in the cache, and the most keys in `#readOnce`. Both take 3 to 18 MB together. */
const MAX_PETS = 10_000;

/** The longest time for which a change by another program stays unnoticed. */
const TRUSTED_MS = 100;

/** Keeps pets and full pages that were read more than once: see "Pets of a SQLite file" in docs/decisions.md. */
export class ReadCache {
  readonly #dataVersion: StatementSync;
  readonly #petsByKey = new Map<bigint | string, WhilePetsNeverChange<readonly Pet[]>>();
  readonly #readOnce = new Set<bigint | string>();
  #petCount = 0;
  #version = 0n;
  /** On the clock of `performance.now()`. */
  #trustedUntilMs = -Infinity;

  constructor(db: DatabaseSync) {
    // Changes only with commits of other connections: https://www.sqlite.org/pragma.html#pragma_data_version
    this.#dataVersion = db.prepare('PRAGMA data_version', { returnArrays: true });
  }

  /** @param key the id of a pet, or the text of a query */
  get(key: bigint | string): readonly Pet[] | undefined {
    if (performance.now() >= this.#trustedUntilMs) this.#forgetChanged();
    return this.#petsByKey.get(key);
  }

  /** Keeps the pets at the second read of the key. Call it right after the `get`, without an `await` between. */
  add(key: bigint | string, pets: readonly Pet[]): void {
    if (this.#readOnce.size >= MAX_PETS) this.#readOnce.clear();
    if (!this.#readOnce.delete(key)) {
      this.#readOnce.add(key);
      return;
    }
    if (this.#petCount + pets.length > MAX_PETS) this.clear();
    this.#petsByKey.set(key, pets);
    this.#petCount += pets.length;
  }

  /** Call it before this connection writes a pet whose id may be less than a stored id. */
  clear(): void {
    this.#petsByKey.clear();
    this.#petCount = 0;
  }

  #forgetChanged(): void {
    const [version] = this.#dataVersion.get() as unknown as readonly [bigint];
    if (version !== this.#version) this.clear();
    this.#version = version;
    this.#trustedUntilMs = performance.now() + TRUSTED_MS;
  }
}
