import type { Collection } from 'mongodb';
import { PET_STATUSES } from '../../domain/pet.ts';
import { petIds } from './pet-document.ts';
import { STATUS_INDEX } from './schema/collection-plans.ts';
import type { PetDocument } from './schema/collections.ts';
import { toBigInt } from './schema/long.ts';

/** How long a result is used. A search takes four steps in the index. */
const TRUSTED_MS = 1_000;

/** The most ids that are kept. */
const MAX_IDS = 1_000;

/**
 * Finds the pets that no list with a status has, because their status is missing or none of those that exist. Only
 * damage makes such a pet.
 */
export class PetsWithoutStatus {
  readonly #pets: Collection<PetDocument>;
  #found: Promise<readonly bigint[]> | undefined;
  /** On the clock of `performance.now()`. */
  #searchedAtMs = -Infinity;

  constructor(pets: Collection<PetDocument>) {
    this.#pets = pets;
  }

  /**
   * Does not retry: it rejects with the driver's errors.
   *
   * @returns their ids in ascending order, as they were {@link TRUSTED_MS} ago at most
   */
  ids(): Promise<readonly bigint[]> {
    const nowMs = performance.now();
    if (this.#found === undefined || nowMs - this.#searchedAtMs >= TRUSTED_MS) {
      this.#searchedAtMs = nowMs;
      const search = this.#search();
      this.#found = search;
      search.catch(() => {
        if (this.#found === search) this.#found = undefined;
      });
    }
    return this.#found;
  }

  async #search(): Promise<readonly bigint[]> {
    const filter = { ...petIds({}), status: { $nin: [...PET_STATUSES] } };
    const options = {
      projection: { _id: 1 },
      hint: STATUS_INDEX.name,
      sort: { _id: 1 },
      limit: MAX_IDS,
    } as const;
    const found = await this.#pets.find(filter, options).toArray();
    return found.map(({ _id }) => toBigInt(_id));
  }
}
