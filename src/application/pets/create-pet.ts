import { newPet, type PetDraft } from '../../domain/pet.ts';
import type { Idempotency, Inserted, PetRepository } from '../ports/pet-repository.ts';

export class CreatePet {
  readonly #pets: PetRepository;

  constructor(pets: PetRepository) {
    this.#pets = pets;
  }

  /**
   * @param idempotency makes the pet that an earlier call with the same key made the outcome of this one
   * @throws {InvalidPet}
   * @throws {IdempotencyKeyReused}
   */
  async execute(draft: PetDraft, idempotency?: Idempotency): Promise<Inserted> {
    const pet = newPet(draft);
    if (idempotency !== undefined) return this.#pets.insertOnce(pet, idempotency);
    return { pet: await this.#pets.insert(pet), replayed: false };
  }
}
