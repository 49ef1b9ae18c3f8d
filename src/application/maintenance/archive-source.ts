import type { WhilePetsNeverChange } from '../ports/pets-never-change.ts';
import type { ArchivedPet, PetSource, ReadablePetArchive, Survey } from '../ports/pet-archive.ts';
import { CountsDiffer } from './errors.ts';

/** In pets. Larger batches are not faster. */
export const BATCH_SIZE = 1000;

type SurveyedRange = Pick<Survey, 'greatestId'>;

/**
 * Services may add pets meanwhile. Reads every pet that the survey has counted, and no greater id. May miss a pet that
 * a service stores after the survey.
 */
export class ArchiveSource implements PetSource {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  async survey(): Promise<WhilePetsNeverChange<Survey>> {
    const greatestId = await this.#archive.greatestId();
    const count = await this.#archive.count(greatestId);
    return { count, greatestId, lastId: await this.#archive.lastId() };
  }

  async *read(after: bigint, { greatestId }: SurveyedRange): AsyncGenerator<readonly ArchivedPet[]> {
    for (let lastId = after; lastId < greatestId; ) {
      const found = await this.#archive.read(lastId, BATCH_SIZE);
      const pets = found.filter(({ id }) => id <= greatestId);
      const last = pets.at(-1);
      if (last === undefined) return;
      lastId = last.id;
      yield pets;
    }
  }

  async recount({ greatestId }: SurveyedRange): Promise<number> {
    return this.#archive.count(greatestId);
  }
}

/**
 * Compares the numbers of pets before, during and after a run. Services only add pets, so no number may be less than
 * the number before it.
 *
 * @throws {CountsDiffer}
 * @throws {StorageUnavailable}
 */
export async function checkSourceCount(source: PetSource, survey: Survey, total: number): Promise<void> {
  const after = await source.recount(survey);
  if (total < survey.count) throw new CountsDiffer('source', { expected: survey.count, found: total });
  if (after < total) throw new CountsDiffer('source', { expected: total, found: after });
}
