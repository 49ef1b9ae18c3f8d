import type { OnProgress } from './progress.ts';
import type { ArchivedPet } from './pet-archive.ts';

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
