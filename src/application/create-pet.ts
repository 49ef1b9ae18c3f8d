import { newPet, type Pet, type PetDraft } from '../domain/pet.ts';
import type { PetRepository } from './ports/pet-repository.ts';

export class CreatePet {
  readonly #pets: PetRepository;

  constructor(pets: PetRepository) {
    this.#pets = pets;
  }

  /** @throws {InvalidPet} */
  async execute(draft: PetDraft): Promise<Pet> {
    return this.#pets.insert(newPet(draft));
  }
}
