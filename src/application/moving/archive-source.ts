import type { ArchivedPet, ReadablePetArchive } from '../ports/pet-archive.ts';
import type { PetSource, Survey } from '../ports/pet-source.ts';

/** How many pets are read and written at once. Larger batches are not faster. */
export const BATCH_SIZE = 1000;

type UpTo = Pick<Survey, 'greatestId'>;

/**
 * The pets of an archive that services may be adding to. Reads every pet that existed at the survey, and none with a
 * greater id. A pet may be missing if a service took its id before the survey and stores it later.
 */
export class ArchiveSource implements PetSource {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  /** @throws {StorageUnavailable} */
  async survey(): Promise<Survey> {
    const greatestId = await this.#archive.greatestId();
    const count = await this.#archive.count(greatestId);
    return { count, greatestId, lastId: await this.#archive.lastId() };
  }

  /**
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  async *read(after: bigint, { greatestId }: UpTo): AsyncGenerator<readonly ArchivedPet[]> {
    for (let lastId = after; lastId < greatestId; ) {
      const found = await this.#archive.read(lastId, BATCH_SIZE);
      const pets = found.filter(({ id }) => id <= greatestId);
      const last = pets.at(-1);
      if (last === undefined) return;
      lastId = last.id;
      yield pets;
    }
  }

  /** @throws {StorageUnavailable} */
  async recount({ greatestId }: UpTo): Promise<number> {
    return this.#archive.count(greatestId);
  }
}
