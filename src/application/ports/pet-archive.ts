import { INT64_MIN, type Pet, petTexts } from '../../domain/pet.ts';
import type { Idempotency } from './pet-repository.ts';

export type ArchivedPet = Pet & {
  /** From the create request. A copied pet keeps its key, so the new storage replays a repeated request. */
  readonly idempotency?: Idempotency;
};

/** Compares every field, and the idempotency keys. */
export function samePet(a: ArchivedPet, b: ArchivedPet): boolean {
  return textOf(a) === textOf(b);
}

function textOf({ id, idempotency, ...fields }: ArchivedPet): string {
  return JSON.stringify([String(id), petTexts(fields), idempotency?.key, idempotency?.fingerprint]);
}

/** Less than 0, because damage can change an id to 0 or less. */
export const BEFORE_EVERY_ID = INT64_MIN;

/**
 * Reads and writes pets with their ids. `test/contracts/pet-archive.ts` tests every adapter against these comments.
 *
 * - Reads return the stored values, including int64 and Unicode.
 * - A later change of an argument or a result has no effect on stored pets.
 * - Every method rejects within a bounded time when the storage is unreachable.
 */
export interface PetArchive {
  /**
   * At most `limit` pets with ids greater than `after`, in ascending order of id. The cost does not depend on `after`.
   *
   * @throws {DamagedPet} when one of these pets is damaged; an archive never skips a pet
   * @throws {StorageUnavailable}
   */
  read(after: bigint, limit: number): Promise<readonly ArchivedPet[]>;

  /**
   * Stores pets with their ids. Resolves when all pets are durable. Leaves {@link samePet equal pets} unchanged, so a
   * caller can repeat an interrupted write. Overwrites nothing. A write that rejects may have stored some pets.
   *
   * @param pets their ids are from 1 to 2^53 - 1, without duplicates, and reserved by {@link reserve}
   * @throws {PetIdTaken} when a different pet has one of the ids
   * @throws {IdempotencyKeyTaken} when a different pet has one of the idempotency keys
   * @throws {DamagedPet} when the record with one of the ids is damaged
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
   * The greatest id that was ever assigned, written or reserved, or 0. A pet with this id need not exist.
   *
   * @throws {StorageUnavailable}
   */
  lastId(): Promise<bigint>;

  /**
   * From now on, every repository on this storage assigns only greater ids to new pets, so {@link write} can use the
   * ids up to `id`. A smaller `id` than before changes nothing.
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

/** The methods that are safe while a service writes to the same storage. */
export type ReadablePetArchive = Pick<PetArchive, 'read' | 'greatestId' | 'lastId' | 'count'>;

/** A source at the start of a copy or export. */
export type Survey = {
  readonly count: number;
  /** The greatest id of a pet, or 0. Pets with greater ids are ignored. */
  readonly greatestId: bigint;
  /** At least `greatestId`. The target must assign only greater ids to new pets. */
  readonly lastId: bigint;
};

/**
 * The source of a copy, which can be read repeatedly. A storage rejects with `DamagedPet` or `StorageUnavailable`, and
 * a file with its own errors.
 */
export interface PetSource {
  /** Counts the pets. Checks all lines of a file, so an invalid file is rejected before anything is written. */
  survey(onProgress: OnProgress): Promise<Survey>;

  /** Batches of the pets with ids greater than `after`, up to `survey.greatestId`, in ascending order of id. */
  read(after: bigint, survey: Survey): AsyncGenerator<readonly ArchivedPet[]>;

  /** Counts the pets with ids up to `survey.greatestId` again. */
  recount(survey: Survey): Promise<number>;
}

export type Progress = {
  readonly doing: 'backing up' | 'checking' | 'comparing' | 'exporting' | 'restoring' | 'writing';
  /** In pets; in a backup or restore, in pages of the file. */
  readonly done: number;
  /** In the unit of `done`, if known. */
  readonly total: number | undefined;
};

export type OnProgress = (progress: Progress) => void;
