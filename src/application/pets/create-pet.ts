import { newPet, type NewPet, type PetDraft, petTexts } from '../../domain/pet.ts';
import type { WhilePetsNeverChange } from '../ports/pets-never-change.ts';
import type { Inserted, PetRepository } from '../ports/pet-repository.ts';

/** SHA-256 of a text in UTF-8, as 64 lower-case hex digits. */
export type Sha256 = (text: string) => string;

/** A replay answers with the pet as it is now, which is what the first call answered. */
type Answer = WhilePetsNeverChange<Inserted>;

export class CreatePet {
  readonly #pets: PetRepository;
  readonly #sha256: Sha256;

  constructor(pets: PetRepository, sha256: Sha256) {
    this.#pets = pets;
    this.#sha256 = sha256;
  }

  /**
   * Adds a pet to the catalogue.
   *
   * @param idempotencyKey makes a repeated call return the pet of the first call. Unique among all callers and
   *   operations. Of any length
   * @throws {InvalidPet} naming every rule that the draft breaks
   * @throws {IdempotencyKeyReused} when the key belongs to a request for another pet
   * @throws {PetIdsExhausted} when no id is left
   * @throws {DamagedPet} when the record of the first call's pet is damaged
   * @throws {StorageUnavailable} the pet may have been stored
   */
  async execute(draft: PetDraft, idempotencyKey?: string): Promise<Answer> {
    const pet = newPet(draft);
    if (idempotencyKey === undefined) return { pet: await this.#pets.insert(pet), replayed: false };
    const key = this.#sha256(idempotencyKey);
    return this.#pets.insertOnce(pet, { key, fingerprint: fingerprintOf(pet, this.#sha256) });
  }
}

/** The fingerprint of every request that creates this pet, and of no other request. */
export function fingerprintOf(pet: NewPet, sha256: Sha256): string {
  return sha256(JSON.stringify(petTexts(pet)));
}
