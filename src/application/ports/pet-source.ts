import type { OnProgress } from '../progress.ts';
import type { ArchivedPet } from './pet-archive.ts';

export type Survey = {
  /** How many pets there are. */
  readonly count: number;
  /** No pet has a greater id, and none of the ids up to this one may be given to another pet. */
  readonly lastId: bigint;
};

/** Pets that can be read again and again, in ascending order of id. */
export interface PetSource {
  /** Looks at everything that could be wrong with the pets, before anything is done with them. */
  survey(onProgress: OnProgress): Promise<Survey>;

  /** The pets whose id is greater, up to the last of the survey, in batches. */
  read(after: bigint, survey: Survey): AsyncIterable<readonly ArchivedPet[]>;

  /** How many pets there are now, up to the last of the survey: an insert may have been under way at that time. */
  recount(survey: Survey): Promise<number>;
}
