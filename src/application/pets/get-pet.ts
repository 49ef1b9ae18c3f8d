import type { Pet } from '../../domain/pet.ts';
import { PetNotFound } from './errors.ts';
import type { PetRepository } from '../ports/pet-repository.ts';

export class GetPet {
  readonly #pets: PetRepository;

  constructor(pets: PetRepository) {
    this.#pets = pets;
  }

  /**
   * @throws {PetNotFound}
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  async execute(id: bigint): Promise<Pet> {
    const pet = await this.#pets.findById(id);
    if (pet === undefined) throw new PetNotFound(id);
    return pet;
  }
}
