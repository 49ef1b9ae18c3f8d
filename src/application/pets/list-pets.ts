import { PAGE_SIZE, type Pet, type PetStatus } from '../../domain/pet.ts';
import type { WhilePetsNeverChange } from '../ports/pets-never-change.ts';
import { DamagedPet, InvalidPageSize } from './errors.ts';
import type { PetRepository } from '../ports/pet-repository.ts';

export type PageRequest = {
  /** Default: all pets. */
  readonly status?: PetStatus | undefined;
  /** 1 to 100 pets. Default: 20. */
  readonly limit?: number | undefined;
  /** Only pets with ids greater than this id. Default: all pets. */
  readonly after?: bigint | undefined;
};

export type PetPage = {
  /** In ascending order of id. A page that ends before a damaged pet may have fewer pets than the limit. */
  readonly pets: readonly Pet[];
  /**
   * The `after` of the next page. Absent on the last page. A walk from page to page returns each pet once, with or
   * without a filter.
   */
  readonly next?: WhilePetsNeverChange<bigint>;
};

export class ListPets {
  readonly #pets: PetRepository;

  constructor(pets: PetRepository) {
    this.#pets = pets;
  }

  /**
   * Never skips a damaged pet: the page ends before this pet, and the call for the next page throws.
   *
   * @throws {InvalidPageSize}
   * @throws {DamagedPet} when the first pet of the page is damaged. A caller can pass the id of this pet as `after`
   * @throws {StorageUnavailable}
   */
  async execute({ status, limit = PAGE_SIZE.default, after }: PageRequest): Promise<PetPage> {
    if (!Number.isInteger(limit) || limit < PAGE_SIZE.min || limit > PAGE_SIZE.max) {
      throw new InvalidPageSize();
    }
    let foundPets: readonly Pet[];
    try {
      // If the storage has one more pet than the limit, another page follows.
      foundPets = await this.#pets.list({ status, after, limit: limit + 1 });
    } catch (error) {
      if (!(error instanceof DamagedPet)) throw error;
      const last = error.before.at(-1);
      if (last === undefined) throw error;
      return { pets: error.before, next: last.id };
    }
    if (foundPets.length <= limit) return { pets: foundPets };
    const pets = foundPets.slice(0, limit);
    return { pets, next: pets[limit - 1]!.id };
  }
}
