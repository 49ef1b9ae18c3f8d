import type { Db } from 'mongodb';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { Deadline } from './connection/deadline.ts';
import { IDEMPOTENCY_INDEX } from './schema/collection-plans.ts';
import { indexesOf, isPlanned } from './schema/inspect-indexes.ts';
import { SharedSearch } from './shared-search.ts';

/**
 * Refuses inserts with an idempotency key while the index is missing that rejects a second pet with the same key. The
 * server would accept it. After an operator has dropped the index, a second pet is possible for a second.
 */
export class IdempotencyIndex {
  readonly #search: SharedSearch<boolean>;

  constructor(db: Db) {
    this.#search = new SharedSearch(() => isThere(db));
  }

  /** @throws {StorageUnavailable} when it is missing, or is not found before the deadline */
  async require(deadline: Deadline): Promise<void> {
    if (await deadline.retry(() => this.#search.result())) return;
    this.#search.forget();
    throw new StorageUnavailable(
      `the collection "pets" lacks the index "${IDEMPOTENCY_INDEX.name}"; migrate the database again`,
    );
  }
}

async function isThere(db: Db): Promise<boolean> {
  const existing = await indexesOf(db, 'pets');
  return existing.some((info) => isPlanned(info, IDEMPOTENCY_INDEX));
}
