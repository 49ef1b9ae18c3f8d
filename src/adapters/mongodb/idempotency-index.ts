import type { Db } from 'mongodb';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { Deadline } from './connection/deadline.ts';
import { IDEMPOTENCY_INDEX } from './schema/collection-plans.ts';
import { indexesOf, isPlanned } from './schema/inspect-indexes.ts';

/** How long the index is trusted after it was seen. Looking for it takes a round trip. */
const TRUSTED_MS = 1_000;

/**
 * Refuses inserts with an idempotency key while the index is missing that rejects a second pet with the same key. The
 * server would accept it. After an operator has dropped the index, a second pet is possible for {@link TRUSTED_MS}.
 */
export class IdempotencyIndex {
  readonly #db: Db;
  #search: Promise<boolean> | undefined;
  /** On the clock of `performance.now()`. */
  #seenAtMs = -Infinity;

  constructor(db: Db) {
    this.#db = db;
  }

  /** @throws {StorageUnavailable} when it is missing, or is not found before the deadline */
  async require(deadline: Deadline): Promise<void> {
    if (performance.now() - this.#seenAtMs < TRUSTED_MS) return;
    const isThere = await deadline.retry(() => (this.#search ??= this.#look()));
    if (!isThere) {
      throw new StorageUnavailable(
        `the collection "pets" lacks the index "${IDEMPOTENCY_INDEX.name}"; migrate the database again`,
      );
    }
  }

  async #look(): Promise<boolean> {
    const startedAtMs = performance.now();
    try {
      const existing = await indexesOf(this.#db, 'pets');
      const isThere = existing.some((info) => isPlanned(info, IDEMPOTENCY_INDEX));
      if (isThere) this.#seenAtMs = startedAtMs;
      return isThere;
    } finally {
      this.#search = undefined;
    }
  }
}
