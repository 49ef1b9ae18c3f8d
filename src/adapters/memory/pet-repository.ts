import { IdempotencyKeyTaken, PetIdTaken } from '../../application/maintenance/errors.ts';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import { type ArchivedPet, type PetArchive, samePet } from '../../application/ports/pet-archive.ts';
import type {
  Idempotency,
  InsertResult,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import { MAX_PET_ID, type NewPet, type Pet, type PetStatus, petWithId } from '../../domain/pet.ts';

/** Keeps pets in arrays sorted by id, so a page takes O(log n + limit) steps. */
export class InMemoryPetRepository implements PetRepository, PetArchive {
  readonly #allPets: Pet[] = [];
  readonly #petsByStatus: Record<PetStatus, Pet[]> = { available: [], pending: [], sold: [] };
  readonly #petsByIdempotencyKey = new Map<string | undefined, Pet>();
  readonly #idempotencyByPet = new WeakMap<WhilePetsNeverChange<Pet>, Idempotency>();
  #lastId = 0n;

  async insert(pet: NewPet): Promise<Pet> {
    return this.#add(pet);
  }

  async insertOnce(pet: NewPet, idempotency: Idempotency): Promise<InsertResult> {
    const existing = this.#petsByIdempotencyKey.get(idempotency.key);
    if (existing === undefined) return { pet: this.#add(pet, idempotency), replayed: false };
    if (this.#idempotencyByPet.get(existing)?.fingerprint !== idempotency.fingerprint) {
      throw new IdempotencyKeyReused();
    }
    return { pet: existing, replayed: true };
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    return this.#find(id);
  }

  async list({ status, after, limit }: PetQuery): Promise<readonly Pet[]> {
    const pets = status === undefined ? this.#allPets : this.#petsByStatus[status];
    const start = after === undefined ? 0 : firstIndexAfter(pets, after);
    return pets.slice(start, start + limit);
  }

  async read(after: bigint, limit: number): Promise<readonly ArchivedPet[]> {
    const pets = await this.list({ after, limit });
    return pets.map((pet) => this.#toArchivedPet(pet));
  }

  async write(pets: readonly ArchivedPet[]): Promise<void> {
    for (const pet of pets) {
      const { id, idempotency } = pet;
      const stored = this.#find(id);
      if (stored === undefined) {
        if (this.#petsByIdempotencyKey.has(idempotency?.key)) throw new IdempotencyKeyTaken(id);
        this.#put(petWithId(id, pet), idempotency);
      } else if (!samePet(this.#toArchivedPet(stored), pet)) throw new PetIdTaken(id);
    }
  }

  async greatestId(): Promise<bigint> {
    return this.#allPets.at(-1)?.id ?? 0n;
  }

  async lastId(): Promise<bigint> {
    return this.#lastId;
  }

  async reserve(id: bigint): Promise<void> {
    if (id > this.#lastId) this.#lastId = id;
  }

  async count(upTo: bigint): Promise<number> {
    return firstIndexAfter(this.#allPets, upTo);
  }

  #find(id: bigint): Pet | undefined {
    const pet = this.#allPets[firstIndexAfter(this.#allPets, id - 1n)];
    return pet?.id === id ? pet : undefined;
  }

  #add(pet: NewPet, idempotency?: Idempotency): Pet {
    if (this.#lastId >= MAX_PET_ID) throw new PetIdsExhausted();
    const stored = petWithId(this.#lastId + 1n, pet);
    this.#put(stored, idempotency);
    return stored;
  }

  #put(pet: Pet, idempotency: Idempotency | undefined): void {
    for (const pets of [this.#allPets, this.#petsByStatus[pet.status]]) {
      pets.splice(firstIndexAfter(pets, pet.id), 0, pet);
    }
    if (pet.id > this.#lastId) this.#lastId = pet.id;
    if (idempotency === undefined) return;
    const { key, fingerprint } = idempotency;
    this.#petsByIdempotencyKey.set(key, pet);
    this.#idempotencyByPet.set(pet, { key, fingerprint });
  }

  #toArchivedPet(pet: Pet): ArchivedPet {
    const idempotency = this.#idempotencyByPet.get(pet);
    return idempotency === undefined ? pet : { ...pet, idempotency: { ...idempotency } };
  }
}

function firstIndexAfter(sortedPets: readonly Pet[], id: bigint): number {
  let low = 0;
  let high = sortedPets.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sortedPets[middle]!.id > id) high = middle;
    else low = middle + 1;
  }
  return low;
}
