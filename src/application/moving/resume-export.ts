import type { ArchivedPet, ReadablePetArchive } from '../ports/pet-archive.ts';
import { samePet } from './same-pet.ts';

/** The pets that an interrupted export has delivered. */
export type Delivered = { readonly count: number; readonly last: ArchivedPet };

export class ResumeExport {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  /**
   * Whether an export of this archive can continue where an interrupted one ended. Pets never change and are never
   * removed, so it can if the archive still has the last delivered pet, and as many pets up to it as were delivered. It
   * cannot if a pet has since been stored under a smaller id, because this export must contain that pet.
   *
   * @throws {DamagedPet} when the record of the last delivered pet is damaged
   * @throws {StorageUnavailable}
   */
  async execute({ count, last }: Delivered): Promise<boolean> {
    const [stored] = await this.#archive.read(last.id - 1n, 1);
    return stored !== undefined && samePet(stored, last) && (await this.#archive.count(last.id)) === count;
  }
}
