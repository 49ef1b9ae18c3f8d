import type { ArchivedPet, ReadablePetArchive } from '../ports/pet-archive.ts';
import { samePet } from './same-pet.ts';

/** What an earlier export has delivered before it was interrupted. */
export type Delivered = { readonly count: number; readonly last: ArchivedPet };

export class ResumeExport {
  readonly #archive: ReadablePetArchive;

  constructor(archive: ReadablePetArchive) {
    this.#archive = archive;
  }

  /**
   * Whether an export of this archive can go on where the earlier one has ended. Pets never change and are never
   * removed. So it can if the earlier one has delivered as many pets as there are now up to its last one, and that one
   * is the same. It cannot if a pet has come since then under an id that was passed over: this export must have it.
   */
  async execute({ count, last }: Delivered): Promise<boolean> {
    const [there] = await this.#archive.read(last.id - 1n, 1);
    return there !== undefined && samePet(there, last) && (await this.#archive.count(last.id)) === count;
  }
}
