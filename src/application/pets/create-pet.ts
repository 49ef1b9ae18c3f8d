import { newPet, type NewPet, type PetDraft, petTexts } from '../../domain/pet.ts';
import type { WhilePetsNeverChange } from '../ports/pets-never-change.ts';
import type { InsertResult, PetRepository } from '../ports/pet-repository.ts';

/** SHA-256 of a text in UTF-8: 64 lower-case hex digits. */
export type Sha256 = (text: string) => string;

/** A repeated call returns the stored pet, which is what the first call returned. */
type Answer = WhilePetsNeverChange<InsertResult>;

export class CreatePet {
  readonly #pets: PetRepository;
  readonly #sha256: Sha256;

  constructor(pets: PetRepository, sha256: Sha256) {
    this.#pets = pets;
    this.#sha256 = sha256;
  }

  /**
   * @param idempotencyKey calls with equal keys return the same pet, so a key must contain the caller and the operation
   * @throws {InvalidPet} with every rule that the draft breaks
   * @throws {IdempotencyKeyReused} when the key was used for a different pet
   * @throws {DamagedPet} when the pet of the first call is damaged
   * @throws {PetIdsExhausted | StorageUnavailable} after `StorageUnavailable`, the pet may be stored
   */
  async execute(draft: PetDraft, idempotencyKey?: string): Promise<Answer> {
    const pet = newPet(draft);
    if (idempotencyKey === undefined) return { pet: await this.#pets.insert(pet), replayed: false };
    const key = this.#sha256(idempotencyKey);
    return this.#pets.insertOnce(pet, { key, fingerprint: fingerprintOf(pet, this.#sha256) });
  }
}

/** Two fingerprints are equal if and only if the pets are equal. */
export function fingerprintOf(pet: NewPet, sha256: Sha256): string {
  return sha256(JSON.stringify(petTexts(pet)));
}
