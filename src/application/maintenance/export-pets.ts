import { ArchiveSource, checkSourceCount } from './archive-source.ts';
import {
  type ArchivedPet,
  BEFORE_EVERY_ID,
  type OnProgress,
  type ReadablePetArchive,
} from '../ports/pet-archive.ts';

export class ExportPets {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  /**
   * Yields every pet that exists when the export starts, in ascending order of id. Newer pets may be missing.
   * If nothing is thrown, the export is complete.
   *
   * @throws {CountsDiffer} when pets disappear during the export
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  async *execute(onProgress: OnProgress): AsyncGenerator<readonly ArchivedPet[]> {
    const source = new ArchiveSource(this.#archive);
    const survey = await source.survey();
    let done = 0;
    for await (const pets of source.read(BEFORE_EVERY_ID, survey)) {
      yield pets;
      done += pets.length;
      onProgress({ doing: 'exporting', done, total: Math.max(done, survey.count) });
    }
    await checkSourceCount(source, survey, done);
  }
}
