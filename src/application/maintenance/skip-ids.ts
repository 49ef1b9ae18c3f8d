import { petIdsWarning, SKIPPED_PET_IDS } from '../../domain/pet.ts';
import type { PetArchive } from '../ports/pet-archive.ts';

export class TooFewPetIds extends Error {
  readonly kind = 'too-few-pet-ids';
  readonly fault = 'operator';

  constructor() {
    super(`fewer than ${SKIPPED_PET_IDS} ids are left for new pets; none was skipped`);
  }
}

/** Ensures that no new pet is assigned the id of a pet that a restored backup lacks. */
export class SkipIds {
  readonly #archive: Pick<PetArchive, 'lastId' | 'reserve'>;

  constructor(archive: Pick<PetArchive, 'lastId' | 'reserve'>) {
    this.#archive = archive;
  }

  /**
   * @returns the last skipped id: new pets are assigned greater ids
   * @throws {TooFewPetIds}
   * @throws {StorageUnavailable} ids may have been skipped
   */
  async execute(): Promise<bigint> {
    const lastId = await this.#archive.lastId();
    if (petIdsWarning(lastId) !== undefined) throw new TooFewPetIds();
    const lastSkippedId = lastId + SKIPPED_PET_IDS;
    await this.#archive.reserve(lastSkippedId);
    return lastSkippedId;
  }
}
