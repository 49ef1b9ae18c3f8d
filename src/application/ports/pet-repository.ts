import type { NewPet, Pet, PetStatus } from '../../domain/pet.ts';

export type PetQuery = {
  /** Only pets with this status; all pets when absent. */
  readonly status?: PetStatus | undefined;
  /** Only pets whose id is greater. Any int64: an id that was never given is as good as one that was. */
  readonly after?: bigint | undefined;
  /** At most this many pets, at least 1. */
  readonly limit: number;
};

/** Makes an insert safe to repeat. */
export type Idempotency = {
  /** Tells the request from all others: SHA-256 of caller, operation and Idempotency-Key, as 64 lower-case hex digits. */
  readonly key: string;
  /** Tells what was asked for: SHA-256 of it, as 64 lower-case hex digits. */
  readonly fingerprint: string;
};

export type Inserted = {
  readonly pet: Pet;
  /** The pet was there already: an earlier insert with the same key made it. */
  readonly replayed: boolean;
};

/**
 * The catalogue. `test/contracts/pet-repository.ts` holds every adapter to what is written here.
 *
 * Every value comes back exactly as it went in, int64 and Unicode included. What a method was given or has
 * returned is never shared with the store: changing it changes nothing. Every method rejects with
 * {@link StorageUnavailable} when the storage cannot be reached, within a bounded time, and with {@link DamagedPet}
 * when what it holds of a pet that was asked for is none any more: that is checked whenever a pet is read. A record
 * that cannot be a pet because no id of a pet is its key is passed over.
 *
 * A read shows every pet whose insert resolved before the read began, here or in another service on the same storage.
 */
export interface PetRepository {
  /**
   * Stores the pet under a new id, and resolves only when the storage engine has acknowledged it as durable, as
   * far as the adapter is durable at all. Ids begin at 1, grow, may have gaps, and none is ever given twice,
   * not after a restart and not to two callers at once.
   *
   * @throws {PetIdsExhausted} when the id would be above 2^53 - 1
   */
  insert(pet: NewPet): Promise<Pet>;

  /**
   * Like {@link insert}, but makes at most one pet for a key, also when several ask at once. The key becomes known
   * in the same atomic write as the pet and for as long as the pet exists; an insert that failed leaves none
   * behind. Where the key is known, the fingerprint alone decides: the same one gives the pet of that time,
   * whatever is passed now.
   *
   * @throws {IdempotencyKeyReused} when the key is known with another fingerprint; nothing is stored
   * @throws {PetIdsExhausted} when a new id would be above 2^53 - 1
   */
  insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted>;

  /** The pet with this id (any int64), or `undefined`. */
  findById(id: bigint): Promise<Pet | undefined>;

  /**
   * Pets in ascending order of id. A pet that was stored before the call is never missed between one page and
   * the next that begins after its last id. A page costs the same at any depth, with and without the filter.
   *
   * @throws {DamagedPet} the first of the page; its `before` are the pets of the page that come before it
   */
  list(query: PetQuery): Promise<readonly Pet[]>;
}
