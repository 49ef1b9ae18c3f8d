import { BATCH_SIZE } from './batches.ts';
import type { ArchivedPet, ReadablePetArchive } from '../ports/pet-archive.ts';
import type { PetSource, Survey } from '../ports/pet-source.ts';

type UpTo = Pick<Survey, 'greatestId'>;

/**
 * The pets of an archive, also while services add to it: every pet that was there at the survey, and none with a greater
 * id. A service may have taken a lower id before the survey and store the pet after it: that pet may be there or not.
 */
export class ArchiveSource implements PetSource {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  async survey(): Promise<Survey> {
    const greatestId = await this.#archive.greatestId();
    const count = await this.#archive.count(greatestId);
    return { count, greatestId, lastId: await this.#archive.lastId() };
  }

  async *read(after: bigint, { greatestId }: UpTo): AsyncGenerator<readonly ArchivedPet[]> {
    for (let seen = after; seen < greatestId; ) {
      const found = await this.#archive.read(seen, BATCH_SIZE);
      const last = found.at(-1);
      if (last === undefined) return;
      seen = last.id;
      yield seen <= greatestId ? found : found.filter(({ id }) => id <= greatestId);
    }
  }

  async recount({ greatestId }: UpTo): Promise<number> {
    return this.#archive.count(greatestId);
  }
}
