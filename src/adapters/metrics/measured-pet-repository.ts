import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import type { StorageMetrics } from './storage-metrics.ts';

/** Measures the calls of another repository. Resolves and rejects as it does. */
export class MeasuredPetRepository implements PetRepository {
  readonly #pets: PetRepository;
  readonly #metrics: StorageMetrics;

  constructor(pets: PetRepository, metrics: StorageMetrics) {
    this.#pets = pets;
    this.#metrics = metrics;
  }

  /**
   * @throws {PetIdsExhausted}
   * @throws {StorageUnavailable}
   */
  insert(pet: NewPet): Promise<Pet> {
    return this.#metrics.measure('insert_pet', () => this.#pets.insert(pet));
  }

  /**
   * @throws {IdempotencyKeyReused}
   * @throws {PetIdsExhausted}
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted> {
    return this.#metrics.measure('insert_pet_once', () => this.#pets.insertOnce(pet, idempotency));
  }

  /**
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  findById(id: bigint): Promise<Pet | undefined> {
    return this.#metrics.measure('find_pet', () => this.#pets.findById(id));
  }

  /**
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  list(query: PetQuery): Promise<readonly Pet[]> {
    return this.#metrics.measure('list_pets', () => this.#pets.list(query));
  }
}
