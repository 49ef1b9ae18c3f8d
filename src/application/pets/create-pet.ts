import { newPet, type PetDraft } from '../../domain/pet.ts';
import type { Idempotency, Inserted, PetRepository } from '../ports/pet-repository.ts';

export class CreatePet {
  readonly #pets: PetRepository;

  constructor(pets: PetRepository) {
    this.#pets = pets;
  }

  /**
   * Adds a pet to the catalogue.
   *
   * @param idempotency makes a repeated call return the pet of the first call
   * @throws {InvalidPet} naming every rule that the draft breaks
   * @throws {IdempotencyKeyReused} when the key belongs to a different request
   * @throws {PetIdsExhausted} when no id is left
   * @throws {DamagedPet} when the record of the first call's pet is damaged
   * @throws {StorageUnavailable} the pet may have been stored
   */
  async execute(draft: PetDraft, idempotency?: Idempotency): Promise<Inserted> {
    const pet = newPet(draft);
    if (idempotency !== undefined) return this.#pets.insertOnce(pet, idempotency);
    return { pet: await this.#pets.insert(pet), replayed: false };
  }
}
