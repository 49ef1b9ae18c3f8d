import type { OnProgress } from './progress.ts';
import type { ArchivedPet } from './pet-archive.ts';

export type Survey = {
  /** How many pets there are. */
  readonly count: number;
  /** Of a pet. Pets with greater ids are added later, and are left out. */
  readonly greatestId: bigint;
  /** None of the ids up to this one may be given to another pet. At least {@link greatestId}. */
  readonly lastId: bigint;
};

/** Pets that can be read again and again, in ascending order of id. */
export interface PetSource {
  /** Looks at everything that could be wrong with the pets, before anything is done with them. */
  survey(onProgress: OnProgress): Promise<Survey>;

  /** The pets whose id is greater, up to the greatest of the survey, in batches. */
  read(after: bigint, survey: Survey): AsyncIterable<readonly ArchivedPet[]>;

  /** How many pets there are now, up to the greatest id of the survey. */
  recount(survey: Survey): Promise<number>;
}
