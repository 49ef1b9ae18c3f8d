import type { DatabaseSync } from 'node:sqlite';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import { runAndTranslate } from './errors.ts';
import type { InsertQueue } from './insert-queue.ts';
import { type PetReader, petReader } from './pet-reader.ts';
import { PET_QUERIES, type PetRow, type Prepared, prepareAll } from './statements.ts';

/** Less than every id. */
const BEGINNING = 0n;

/** Pets in a SQLite file. Reads run at once, because a page takes microseconds. Inserts wait for a group commit. */
export class SqlitePetRepository implements PetRepository {
  readonly #inserts: InsertQueue;
  readonly #queries: Prepared<typeof PET_QUERIES>;
  readonly #toPet: PetReader['toPet'];

  constructor(db: DatabaseSync, inserts: InsertQueue) {
    this.#inserts = inserts;
    this.#queries = prepareAll(db, PET_QUERIES, { returnArrays: true });
    this.#toPet = petReader(db).toPet;
  }

  /**
   * @throws {PetIdsExhausted}
   * @throws {StorageUnavailable}
   */
  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#inserts.add(pet);
    return inserted.pet;
  }

  /**
   * @throws {IdempotencyKeyReused}
   * @throws {PetIdsExhausted}
   * @throws {DamagedPet} when the pet to replay is damaged
   * @throws {StorageUnavailable}
   */
  async insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted> {
    return this.#inserts.add(pet, idempotency);
  }

  /**
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  async findById(id: bigint): Promise<Pet | undefined> {
    return runAndTranslate(() => {
      const [row] = this.#queries.byId.all(id) as unknown as PetRow[];
      return row && this.#toPet(row);
    });
  }

  /**
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  async list({ status, after = BEGINNING, limit }: PetQuery): Promise<readonly Pet[]> {
    return runAndTranslate(() => {
      const rows =
        status === undefined
          ? this.#queries.list.all(after, limit)
          : this.#queries.listByStatus.all(status, after, limit);
      return parseStoredPage(rows as unknown as PetRow[], after, this.#toPet);
    });
  }
}
