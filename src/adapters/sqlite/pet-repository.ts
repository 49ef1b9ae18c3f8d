import type { DatabaseSync } from 'node:sqlite';
import { DamagedPet, IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import { BEFORE_EVERY_ID } from '../../application/ports/pet-archive.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import { MAX_PET_ID, type NewPet, type Pet, petWithId } from '../../domain/pet.ts';
import { hashToBlob } from './checksum.ts';
import type { Batch, CommitQueue } from './commit-queue.ts';
import { isConstraint, runAndTranslate } from './errors.ts';
import { type ArchivedPetRow, type PetReader, petReader, type PetRow, toPetValues } from './pet-row.ts';
import type { ReadCache } from './read-cache.ts';
import { INSERT_STATEMENTS, PET_QUERIES, type Prepared, prepareAll } from './statements.ts';

/**
 * Pets in a SQLite file. Reads run at once, because a page takes microseconds. They end before the first pet that may not
 * be on the disk yet. Inserts wait for a group commit.
 */
export class SqlitePetRepository implements PetRepository {
  readonly #commits: CommitQueue;
  readonly #queries: Prepared<typeof PET_QUERIES>;
  readonly #statements: Prepared<typeof INSERT_STATEMENTS>;
  readonly #cache: ReadCache;
  readonly #read: PetReader;

  constructor(db: DatabaseSync, commits: CommitQueue, cache: ReadCache) {
    this.#commits = commits;
    this.#queries = prepareAll(db, PET_QUERIES, { returnArrays: true });
    this.#statements = prepareAll(db, INSERT_STATEMENTS, { returnArrays: true });
    this.#cache = cache;
    this.#read = petReader(db);
  }

  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#insert(pet);
    return inserted.pet;
  }

  async insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted> {
    return this.#insert(pet, { ...idempotency });
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    return runAndTranslate(() => {
      const [known] = this.#cache.get(id) ?? [];
      if (known !== undefined) return known;
      if (id >= this.#commits.hiddenFrom) return undefined;
      const row = this.#queries.byId.get(id) as unknown as PetRow | undefined;
      if (row === undefined) return this.#refuseLost(id);
      const pet = this.#read.toPet(row);
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
      const { hiddenFrom } = this.#commits;
      const rows =
        status === undefined
          ? this.#queries.list.all(after, hiddenFrom, limit)
          : this.#queries.listByStatus.all(status, after, hiddenFrom, limit);
      const pets = parseStoredPage(rows as unknown as PetRow[], after, this.#read.toPet);
      if (pets.length === limit) this.#cache.add(key, pets.slice());
      return pets;
    });
  }

  async #insert({ name, categoryId, status }: NewPet, idempotency?: Idempotency): Promise<Inserted> {
    // A copy, because the caller may change its object during the wait.
    const pet: NewPet = { name, categoryId, status };
    return this.#commits.insert((batch) => this.#storeOne(batch, pet, idempotency));
  }

  /** Returns why a single insert is refused, and throws only what fails the whole batch. */
  #storeOne(batch: Batch, pet: NewPet, idempotency: Idempotency | undefined): Inserted | Error {
    const lastId = (batch.lastId ??= this.#lastId());
    try {
      const stored = petWithId(lastId + 1n, pet);
      this.#statements.insert.run(...toPetValues(stored, idempotency));
      batch.lastId = stored.id;
      batch.firstId ??= stored.id;
      return { pet: stored, replayed: false };
    } catch (error) {
      // `node:sqlite` has refused a value before SQLite saw it.
      if (error instanceof TypeError) return error;
      if (!isConstraint(error)) throw error;
      // SQLite reports exhausted ids before a taken idempotency key, so look for the key in either case.
      const row = idempotency && this.#statements.byIdempotencyKey.get(hashToBlob(idempotency.key));
      if (row !== undefined) return this.#replay(row as unknown as ArchivedPetRow, idempotency);
      return lastId >= MAX_PET_ID ? new PetIdsExhausted() : error;
    }
  }

  #lastId(): bigint {
    const [lastId] = this.#statements.lastId.get() as unknown as readonly [bigint];
    return lastId;
  }

  #replay(row: ArchivedPetRow, idempotency: Idempotency | undefined): Inserted | Error {
    try {
      const pet = this.#read.toArchivedPet(row);
      if (pet.idempotency?.fingerprint !== idempotency?.fingerprint) return new IdempotencyKeyReused();
      return { pet: petWithId(pet.id, pet), replayed: true };
    } catch (error) {
      if (error instanceof DamagedPet) return error;
      throw error;
    }
  }
}
