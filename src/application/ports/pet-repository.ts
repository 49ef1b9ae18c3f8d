import type { NewPet, Pet, PetStatus } from '../../domain/pet.ts';

export type PetQuery = {
  /** Default: all pets. */
  readonly status?: PetStatus | undefined;
  /** Only pets with ids greater than this int64. A pet with this id need not exist. Default: all pets. */
  readonly after?: bigint | undefined;
  /** Pets per page, at least 1. */
  readonly limit: number;
};

/** Makes an insert safe to repeat. */
export type Idempotency = {
  /** SHA-256 of caller, operation and Idempotency-Key: 64 lower-case hex digits. */
  readonly key: string;
  /** SHA-256 of the content of the request: 64 lower-case hex digits. */
  readonly fingerprint: string;
};

export type InsertResult = {
  readonly pet: Pet;
  /** Whether an earlier insert with the same key created the pet. */
  readonly replayed: boolean;
};

/**
 * Stores the catalogue. `test/contracts/pet-repository.ts` and `test/contracts/idempotency.ts` test every adapter
 * against these comments.
 *
 * A stored pet never changes and is never removed. `WhilePetsNeverChange` marks the code that relies on this rule.
 *
 * - Reads return the stored values, including int64 and Unicode.
 * - A later change of an argument or a result has no effect on stored pets.
 * - A read returns every pet whose insert resolved before the read began, in any process on the same storage.
 * - Reads check every record. An adapter may cache pets. It documents how many, and for how long it may return an
 *   old pet after another program changes or removes a record.
 * - Reads ignore a record whose key cannot be the id of a pet.
 * - Every method rejects within a bounded time when the storage is unreachable.
 */
export interface PetRepository {
  /**
   * Stores a pet with a new id. Resolves when the storage engine has acknowledged that the write is durable. (Only the
   * adapter in memory is not durable.) Ids start at 1 and may have gaps. An insert assigns a greater id than all ids
   * that were returned before the insert began. No returned id is assigned again, even after a restart.
   *
   * @throws {PetIdsExhausted} when the id would exceed 2^53 - 1
   * @throws {StorageUnavailable} the pet may have been stored
   */
  insert(pet: NewPet): Promise<Pet>;

  /**
   * Like {@link insert}, but creates at most one pet per idempotency key, even for concurrent calls. One atomic write
   * stores the pet and its key, so a failed insert stores no key. The key lasts as long as the pet. If a pet with
   * the key and the fingerprint is stored, the call ignores `pet` and returns the stored pet.
   *
   * @throws {IdempotencyKeyReused} when the stored key has another fingerprint; nothing is stored
   * @throws {PetIdsExhausted} when a new id would exceed 2^53 - 1
   * @throws {DamagedPet} when the record with the key is damaged; nothing is stored
   * @throws {StorageUnavailable} the pet may have been stored
   */
  insertOnce(pet: NewPet, idempotency: Idempotency): Promise<InsertResult>;

  /**
   * @param id any int64
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  findById(id: bigint): Promise<Pet | undefined>;

  /**
   * A page of pets in ascending order of id. A walk passes the last id of each page as the next `after`, and returns
   * every pet that was stored before the walk began. Pets become visible in the order of their ids, so a walk that
   * continues later misses no pet. The cost does not depend on `after`, with or without a filter.
   *
   * @throws {DamagedPet} for the first damaged pet of the page. The error's `before` has the pets that precede it
   * @throws {StorageUnavailable}
   */
  list(query: PetQuery): Promise<readonly Pet[]>;
}
