import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PAGE_SIZE_MIN } from '../../domain/page-size.ts';
import type { Pet, PetStatus } from '../../domain/pet.ts';
import { DamagedPet, InvalidPageSize } from './errors.ts';
import type { PetRepository } from '../ports/pet-repository.ts';

export type PageRequest = {
  readonly status?: PetStatus | undefined;
  /** 1 to 100, 20 when absent. */
  readonly limit?: number | undefined;
  /** The id of the last pet that has been seen. */
  readonly after?: bigint | undefined;
};

export type PetPage = {
  /** In ascending order of id. */
  readonly pets: readonly Pet[];
  /** What to pass as `after` for the next page; absent on the last one. The page may be short all the same. */
  readonly next?: bigint;
};

export class ListPets {
  readonly #pets: PetRepository;

  constructor(pets: PetRepository) {
    this.#pets = pets;
  }

  /**
   * Never leaves out a pet in silence: a page ends before the first damaged pet, and the next one begins with it.
   *
   * @throws {InvalidPageSize}
   * @throws {DamagedPet} when the page begins with it; the pets after its id can still be listed
   */
  async execute({ status, limit = PAGE_SIZE_DEFAULT, after }: PageRequest): Promise<PetPage> {
    if (!Number.isInteger(limit) || limit < PAGE_SIZE_MIN || limit > PAGE_SIZE_MAX) {
      throw new InvalidPageSize(limit, { min: PAGE_SIZE_MIN, max: PAGE_SIZE_MAX });
    }
    // One more than asked for tells whether another page follows.
    let found: readonly Pet[];
    try {
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
