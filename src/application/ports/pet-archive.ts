import { INT64_MIN, type Pet, petTexts } from '../../domain/pet.ts';
import type { Idempotency } from './pet-repository.ts';

/** A pet with everything that a storage knows about it. A move to another storage loses nothing. */
export type ArchivedPet = Pet & {
  /** The idempotency key that created the pet. It moves along, so a retry after the move is replayed. */
  readonly idempotency?: Idempotency;
};

/** Whether two pets agree in every field, including their idempotency keys. */
export function samePet(a: ArchivedPet, b: ArchivedPet): boolean {
  return textOf(a) === textOf(b);
}

function textOf({ id, idempotency, ...fields }: ArchivedPet): string {
  return JSON.stringify([String(id), petTexts(fields), idempotency?.key, idempotency?.fingerprint]);
}

/** The least int64. Reading all pets begins after it, and not after 0, because damage can make an id 0. */
export const BEFORE_EVERY_ID = INT64_MIN;

/**
 * Reads and writes the whole catalogue with its ids, to move it between storages. `test/contracts/pet-archive.ts` tests
 * every adapter against these comments.
 *
 * - Values come back exactly as they were stored, including int64 and Unicode.
 * - The store shares no object with its callers. Changing an argument or a result later has no effect.
 * - Every method rejects within a bounded time when it cannot reach the storage.
 */
export interface PetArchive {
  /**
   * The pets with ids greater than `after`, at most `limit` of them, in ascending order of id. The cost does not
   * depend on `after`.
   *
   * @throws {DamagedPet} when one of them is damaged; an archive never skips a pet
   * @throws {StorageUnavailable}
   */
  read(after: bigint, limit: number): Promise<readonly ArchivedPet[]>;

  /**
   * Stores pets under their own ids. Resolves when all of them are durable. Leaves {@link samePet the same pet} unchanged,
   * so an interrupted write can be repeated. Overwrites nothing. A rejected write may have stored any of the other pets.
   *
   * @param pets with ids from 1 to 2^53 - 1, without duplicates, that {@link reserve} has reserved before
   * @throws {PetIdTaken} when a different pet has one of the ids
   * @throws {IdempotencyKeyTaken} when a different pet has one of the idempotency keys
   * @throws {DamagedPet} when the record under one of the ids is damaged
   * @throws {StorageUnavailable}
   */
  write(pets: readonly ArchivedPet[]): Promise<void>;

  /**
   * The greatest id of a stored pet, or 0.
   *
   * @throws {StorageUnavailable}
   */
  greatestId(): Promise<bigint>;

  /**
   * The greatest id that was ever assigned, written or reserved, or 0. No pet needs to have it.
   *
   * @throws {StorageUnavailable}
   */
  lastId(): Promise<bigint>;

  /**
   * Makes every repository on the same store assign only greater ids from now on, so that {@link write} can use the
   * others. Never lowers an earlier reservation.
   *
   * @param id 0 to 2^53 - 1
   * @throws {StorageUnavailable}
   */
  reserve(id: bigint): Promise<void>;

  /**
   * The number of pets with ids up to and including `upTo`.
   *
   * @throws {StorageUnavailable}
   */
  count(upTo: bigint): Promise<number>;
}

/** The part of an archive that is safe while a service writes to the same store. */
export type ReadablePetArchive = Pick<PetArchive, 'read' | 'greatestId' | 'lastId' | 'count'>;

export type Survey = {
  /** The number of pets. */
  readonly count: number;
  /** The greatest id of a pet, or 0. Pets that arrive later with greater ids are left out. */
  readonly greatestId: bigint;
  /** No other pet may get an id up to this one. At least `greatestId`. */
  readonly lastId: bigint;
};

/**
 * Pets that can be read more than once, in ascending order of id. Every method rejects with the errors of the source: a
 * storage with `DamagedPet` and `StorageUnavailable`, a file with its own.
 */
export interface PetSource {
  /** Counts the pets. Checks a file completely, so a bad one is rejected before anything is written. */
  survey(onProgress: OnProgress): Promise<Survey>;

  /** The pets with ids greater than `after`, up to the greatest id of the survey, in batches. */
  read(after: bigint, survey: Survey): AsyncGenerator<readonly ArchivedPet[]>;

  /** The number of pets now, up to the greatest id of the survey. */
  recount(survey: Survey): Promise<number>;
}

/** The progress of a long operation. */
export type Progress = {
  readonly doing: 'backing up' | 'checking' | 'comparing' | 'exporting' | 'restoring' | 'writing';
  /** How many pets are done; in a backup or restore, how many pages of the file. */
  readonly done: number;
  /** How many there are in total, if that is known. */
  readonly total: number | undefined;
};

export type OnProgress = (progress: Progress) => void;
