import type { NewPet, Pet, PetStatus } from '../../domain/pet.ts';

export type PetQuery = {
  /** Only pets with this status. All pets when absent. */
  readonly status?: PetStatus | undefined;
  /** Only pets with greater ids. Any int64; no pet needs to have it. From the first pet when absent. */
  readonly after?: bigint | undefined;
  /** The most pets to return, at least 1. */
  readonly limit: number;
};

/** Makes an insert safe to repeat. */
export type Idempotency = {
  /** Identifies the request: SHA-256 of caller, operation and Idempotency-Key, as 64 lower-case hex digits. */
  readonly key: string;
  /** Identifies the content of the request: its SHA-256, as 64 lower-case hex digits. */
  readonly fingerprint: string;
};

export type Inserted = {
  readonly pet: Pet;
  /** An earlier insert with the same key created the pet. */
  readonly replayed: boolean;
};

/**
 * Stores the catalogue. `test/contracts/pet-repository.ts` and `test/contracts/idempotency.ts` test every adapter
 * against these comments.
 *
 * A stored pet never changes and is never removed. `WhilePetsNeverChange` stands wherever the program relies on that. A
 * method that does either turns it into a compile error there.
 *
 * Rules of every adapter:
 *
 * - Values come back exactly as they were stored, including int64 and Unicode.
 * - The store shares no object with its callers. Changing an argument or a result later has no effect.
 * - A read returns every pet whose insert resolved before the read began, in any process on the same storage.
 * - Every record is checked when it is read from the storage. An adapter may keep pets that it has read, within a stated
 *   number. A record that another program changes or removes may therefore be returned as it was, for a stated time.
 * - A record whose key cannot be the id of a pet is ignored.
 * - Every method rejects within a bounded time when it cannot reach the storage.
 */
export interface PetRepository {
  /**
   * Stores a pet under a new id. Resolves when the storage engine has acknowledged the write as durable, as far as the
   * adapter is durable. Ids start at 1 and grow, possibly with gaps: an insert that begins after a pet was returned gets
   * a greater id. No pet is assigned the id of another pet that was returned, even after a restart.
   *
   * @throws {PetIdsExhausted} when the id would exceed 2^53 - 1
   * @throws {StorageUnavailable} the pet may have been stored
   */
  insert(pet: NewPet): Promise<Pet>;

  /**
   * Like {@link insert}, but creates at most one pet per idempotency key, even for concurrent calls. The key is
   * stored in the same atomic write as the pet and lasts as long as the pet. A failed insert leaves no key behind.
   * For a known key, only the fingerprint is compared: an equal one returns the first pet and ignores `pet`.
   *
   * @throws {IdempotencyKeyReused} when the key is known with another fingerprint; nothing is stored
   * @throws {PetIdsExhausted} when a new id would exceed 2^53 - 1
   * @throws {DamagedPet} when the record of the first pet is damaged; nothing is stored
   * @throws {StorageUnavailable} the pet may have been stored
   */
  insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted>;

  /**
   * The pet with this id, or `undefined`.
   *
   * @param id any int64
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  findById(id: bigint): Promise<Pet | undefined>;

  /**
   * A page of pets in ascending order of id. Paging by the last id of each page returns every pet that was stored
   * before the walk began. Inserted pets become visible in the order of their ids: asking again after the last id
   * misses none. The cost does not depend on `after`, with or without a filter.
   *
   * @throws {DamagedPet} for the first damaged pet of the page; its `before` holds the pets that precede it
   * @throws {StorageUnavailable}
   */
  list(query: PetQuery): Promise<readonly Pet[]>;
}
