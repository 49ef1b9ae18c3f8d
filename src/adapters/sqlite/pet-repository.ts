import type { DatabaseSync } from 'node:sqlite';
import { DamagedPet } from '../../application/pets/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import { BEFORE_EVERY_ID } from '../../application/ports/pet-archive.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import { runAndTranslate } from './errors.ts';
import type { InsertQueue } from './insert-queue.ts';
import { type PetReader, petReader, type PetRow } from './pet-row.ts';
import type { ReadCache } from './read-cache.ts';
import { PET_QUERIES, type Prepared, prepareAll } from './statements.ts';

/** Pets in a SQLite file. Reads run at once, because a page takes microseconds. Inserts wait for a group commit. */
export class SqlitePetRepository implements PetRepository {
  readonly #inserts: InsertQueue;
  readonly #queries: Prepared<typeof PET_QUERIES>;
  readonly #cache: ReadCache;
  readonly #toPet: PetReader['toPet'];

  constructor(db: DatabaseSync, inserts: InsertQueue, cache: ReadCache) {
    this.#inserts = inserts;
    this.#queries = prepareAll(db, PET_QUERIES, { returnArrays: true });
    this.#cache = cache;
    this.#toPet = petReader(db).toPet;
  }

  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#inserts.add(pet);
    return inserted.pet;
  }

  async insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted> {
    return this.#inserts.add(pet, idempotency);
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    return runAndTranslate(() => {
      const [known] = this.#cache.get(id) ?? [];
      if (known !== undefined) return known;
      const row = this.#queries.byId.get(id) as unknown as PetRow | undefined;
      if (row === undefined) return this.#refuseLost(id);
      const pet = this.#toPet(row);
      this.#cache.add(id, [pet]);
      return pet;
    });
  }

  /** A damaged page can lose a row. Its entry in the index is in another page. */
  #refuseLost(id: bigint): undefined {
    if (this.#queries.byIdInIndex.get(id) !== undefined) {
      throw new DamagedPet(id, 'it must be in its table as it is in an index');
    }
  }

  async list({ status, after = BEFORE_EVERY_ID, limit }: PetQuery): Promise<readonly Pet[]> {
    return runAndTranslate(() => {
      const key = `${status} ${after} ${limit}`;
      const known = this.#cache.get(key);
      if (known !== undefined) return known.slice();
      const rows =
        status === undefined
          ? this.#queries.list.all(after, limit)
          : this.#queries.listByStatus.all(status, after, limit);
      const pets = parseStoredPage(rows as unknown as PetRow[], after, this.#toPet);
      if (pets.length === limit) this.#cache.add(key, pets.slice());
      return pets;
    });
  }
}
