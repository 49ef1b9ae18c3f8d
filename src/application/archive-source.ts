import { BATCH_SIZE } from './batches.ts';
import type { ArchivedPet, ReadablePetArchive } from './ports/pet-archive.ts';
import type { PetSource, Survey } from './ports/pet-source.ts';

type UpTo = Pick<Survey, 'lastId'>;

/** The pets of an archive. Those that are added after the survey are left out. */
export class ArchiveSource implements PetSource {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  async survey(): Promise<Survey> {
    const lastId = await this.#archive.lastId();
    return { lastId, count: await this.#archive.count(lastId) };
  }

  async *read(after: bigint, { lastId }: UpTo): AsyncGenerator<readonly ArchivedPet[]> {
    for (let seen = after; seen < lastId; ) {
      const found = await this.#archive.read(seen, BATCH_SIZE);
      const last = found.at(-1);
      if (last === undefined) return;
      seen = last.id;
      yield seen <= lastId ? found : found.filter(({ id }) => id <= lastId);
    }
  }

  async recount({ lastId }: UpTo): Promise<number> {
    return this.#archive.count(lastId);
  }
}
