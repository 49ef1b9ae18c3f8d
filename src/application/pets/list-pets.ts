import { PAGE_SIZE, type Pet, type PetStatus } from '../../domain/pet.ts';
import type { WhilePetsNeverChange } from '../ports/pets-never-change.ts';
import { DamagedPet, InvalidPageSize } from './errors.ts';
import type { PetRepository } from '../ports/pet-repository.ts';

export type PageRequest = {
  /** Only pets with this status. All pets when absent. */
  readonly status?: PetStatus | undefined;
  /** The most pets to return: 1 to 100, 20 when absent. */
  readonly limit?: number | undefined;
  /** Only pets with greater ids. From the first pet when absent. */
  readonly after?: bigint | undefined;
};

export type PetPage = {
  /** In ascending order of id. May be fewer than the limit even when a page follows. */
  readonly pets: readonly Pet[];
  /**
   * The `after` of the next page. Absent on the last page. An id is all that a page needs to know where it begins, and
   * a walk with a filter returns each pet once.
   */
  readonly next?: WhilePetsNeverChange<bigint>;
};

export class ListPets {
  readonly #pets: PetRepository;

  constructor(pets: PetRepository) {
    this.#pets = pets;
  }

  /**
   * Never skips a damaged pet silently: the page ends before it, and the next page starts with it.
   *
   * @throws {InvalidPageSize}
   * @throws {DamagedPet} when the page starts with it. The pets after its id can still be listed
   * @throws {StorageUnavailable}
   */
  async execute({ status, limit = PAGE_SIZE.default, after }: PageRequest): Promise<PetPage> {
    if (!Number.isInteger(limit) || limit < PAGE_SIZE.min || limit > PAGE_SIZE.max) {
      throw new InvalidPageSize();
    }
    let found: readonly Pet[];
    try {
      // One pet more than the limit shows whether another page follows.
      found = await this.#pets.list({ status, after, limit: limit + 1 });
    } catch (error) {
      if (!(error instanceof DamagedPet)) throw error;
      const last = error.before.at(-1);
      if (last === undefined) throw error;
      return { pets: error.before, next: last.id };
    }
    if (found.length <= limit) return { pets: found };
    const pets = found.slice(0, limit);
    return { pets, next: pets[limit - 1]!.id };
  }
}
