import { ArchiveSource } from './archive-source.ts';
import { ahead } from './batches.ts';
import { checkSource } from './check-source.ts';
import type { ArchivedPet, ReadablePetArchive } from '../ports/pet-archive.ts';
import type { OnProgress } from '../ports/progress.ts';

export class ExportPets {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  /**
   * Every pet that there is now, in batches and in ascending order of id. Where it ends without an error, none of them
   * was left out. A pet that is added meanwhile may be there or not.
   *
   * @param after the last id that an earlier, interrupted export has delivered, with all before it; else 0
   * @throws {CountsDiffer}
   */
  async *execute(after: bigint, onProgress: OnProgress): AsyncGenerator<readonly ArchivedPet[]> {
    const source = new ArchiveSource(this.#archive);
    const survey = await source.survey();
    // After the survey: a pet that comes in between is counted here, and makes nothing look lost.
    let done = await this.#archive.count(after);
    for await (const pets of ahead(source.read(after, survey))) {
      yield pets;
      done += pets.length;
      onProgress({ doing: 'exporting', done, total: Math.max(done, survey.count) });
    }
    checkSource([survey.count, done, await source.recount(survey)]);
  }
}
