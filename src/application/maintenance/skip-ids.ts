import { petIdsWarning, SKIPPED_PET_IDS } from '../../domain/pet.ts';
import type { PetArchive } from '../ports/pet-archive.ts';

/** Fewer ids are left than are to be skipped. None was skipped. */
export class TooFewPetIds extends Error {
  readonly kind = 'too-few-pet-ids';
  readonly fault = 'operator';

  constructor() {
    super(`fewer than ${SKIPPED_PET_IDS} ids are left for new pets; none was skipped`);
  }
}

/** Keeps new pets from being assigned the ids of pets that a storage has lost. */
export class SkipIds {
  readonly #archive: Pick<PetArchive, 'lastId' | 'reserve'>;

  constructor(archive: Pick<PetArchive, 'lastId' | 'reserve'>) {
    this.#archive = archive;
  }

  /**
   * @returns the last id that no new pet is assigned
   * @throws {TooFewPetIds}
   * @throws {StorageUnavailable} ids may have been skipped
   */
  async execute(): Promise<bigint> {
    const lastId = await this.#archive.lastId();
    if (petIdsWarning(lastId) !== undefined) throw new TooFewPetIds();
    const upTo = lastId + SKIPPED_PET_IDS;
    await this.#archive.reserve(upTo);
    return upTo;
  }
}
