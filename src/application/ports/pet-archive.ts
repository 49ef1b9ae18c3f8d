import type { Pet } from '../../domain/pet.ts';
import type { Idempotency } from './pet-repository.ts';

/** A pet with everything that is known of it, so that nothing is lost when it moves to another storage. */
export type ArchivedPet = Pet & {
  /** What its insert was made safe to repeat with. It moves along, so that a retry after the move replays. */
  readonly idempotency?: Idempotency;
};

/**
 * The whole catalogue, to be moved from one storage to another, with the ids that the pets have.
 * `test/contracts/pet-archive.ts` holds every adapter to what is written here.
 *
 * Every value comes back exactly as it went in, int64 and Unicode included, and what a method was given or has
 * returned is never shared with the store. Every method rejects with {@link StorageUnavailable} when the storage
 * cannot be reached, within a bounded time.
 *
 * @throws {DamagedPet} from `read` and `write`, when what is held of a pet is none any more: no archive passes it over
 */
export interface PetArchive {
  /** Pets whose id is greater, at most `limit` of them, in ascending order of id. Costs the same at any depth. */
  read(after: bigint, limit: number): Promise<readonly ArchivedPet[]>;

  /**
   * Stores pets under the ids that they have, and resolves when all of them are durable. A pet that is there already
   * and the same is left as it is, so that an interrupted write may be repeated.
   *
   * Nothing is ever overwritten. Of a write that was refused none, some or all of the other pets may be there.
   *
   * @param pets of ids from 1 to 2^53 - 1, each once
   * @throws {PetIdTaken} when another pet is there under the id of one of them
   * @throws {IdempotencyKeyTaken} when another pet has the idempotency key of one of them
   */
  write(pets: readonly ArchivedPet[]): Promise<void>;

  /** The greatest id that a pet has; 0 when there is none. */
  greatestId(): Promise<bigint>;

  /** The greatest id that was ever given, written or reserved, whether or not a pet has it; 0 when there is none. */
  lastId(): Promise<bigint>;

  /**
   * From now on the repositories on the same store give only ids that are greater than this one. Never lowers what
   * was reserved before.
   *
   * @param id 0 to 2^53 - 1
   */
  reserve(id: bigint): Promise<void>;

  /** How many pets there are, up to and with this id. */
  count(upTo: bigint): Promise<number>;
}

/** What can be done with the catalogue while a service has it. */
export type ReadablePetArchive = Pick<PetArchive, 'read' | 'greatestId' | 'lastId' | 'count'>;
