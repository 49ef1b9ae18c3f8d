import type { DatabaseSync } from 'node:sqlite';
import { DamagedPet, IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import { BEFORE_EVERY_ID } from '../../application/ports/pet-archive.ts';
import type {
  Idempotency,
  InsertResult,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import { MAX_PET_ID, type NewPet, type Pet, petWithId } from '../../domain/pet.ts';
import { hashToBlob } from './checksum.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Batch } from './flushes.ts';
import { isConstraint, runAndTranslate } from './errors.ts';
import { type PetRow, toArchivedPet, toPet, toPetValues } from './pet-row.ts';
import type { ReadCache } from './read-cache.ts';
import { integerIn, PET_STATEMENTS, type Prepared, prepareAll } from './statements.ts';

/**
 * Reads end before the first hidden (not yet durable) pet, and inserts wait for a group commit: see
 * docs/explanation/a-write-on-sqlite.md.
 */
export class SqlitePetRepository implements PetRepository {
  readonly #commits: CommitQueue;
  readonly #statements: Prepared<typeof PET_STATEMENTS>;
  readonly #cache: ReadCache;

  constructor(db: DatabaseSync, commits: CommitQueue, cache: ReadCache) {
    this.#commits = commits;
    this.#statements = prepareAll(db, PET_STATEMENTS, { returnArrays: true });
    this.#cache = cache;
  }

  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.insertOnce(pet);
    return inserted.pet;
  }

  async insertOnce({ name, categoryId, status }: NewPet, idempotency?: Idempotency): Promise<InsertResult> {
    // Copies, because the caller may change its objects during the wait.
    const pet: NewPet = { name, categoryId, status };
    const key = idempotency && { ...idempotency };
    return this.#commits.insert((batch) => this.#storeOne(batch, pet, key));
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    return runAndTranslate(() => {
      const [cached] = this.#cache.get(id) ?? [];
      if (cached !== undefined) return cached;
      if (id >= this.#commits.hiddenFrom) return undefined;
      const row = this.#statements.byId.get(id) as unknown as PetRow | undefined;
      if (row === undefined) {
        // A damaged page can lose a row, but not its index entry in another page.
        if (this.#statements.byIdInIndex.get(id) === undefined) return undefined;
        throw new DamagedPet(id, 'it must be in its table as it is in an index');
      }
      const pet = toPet(row);
      this.#cache.add(id, [pet]);
      return pet;
    });
  }

  async list({ status, after = BEFORE_EVERY_ID, limit }: PetQuery): Promise<readonly Pet[]> {
    return runAndTranslate(() => {
      const key = `${status} ${after} ${limit}`;
      const cached = this.#cache.get(key);
      if (cached !== undefined) return cached.slice();
      const { hiddenFrom } = this.#commits;
      const rows =
        status === undefined
          ? this.#statements.list.all(after, hiddenFrom, limit)
          : this.#statements.listByStatus.all(status, after, hiddenFrom, limit);
      const pets = parseStoredPage(rows as unknown as PetRow[], after, toPet);
      if (pets.length === limit) this.#cache.add(key, pets.slice());
      return pets;
    });
  }

  /** Returns an error that concerns only this insert, and throws an error of the whole batch. */
  #storeOne(batch: Batch, pet: NewPet, idempotency: Idempotency | undefined): InsertResult | Error {
    const lastId = (batch.lastId ??= integerIn(this.#statements.lastId.get()));
    try {
      const stored = petWithId(lastId + 1n, pet);
      this.#statements.insert.run(...toPetValues(stored, idempotency));
      batch.lastId = stored.id;
      batch.firstId ??= stored.id;
      return { pet: stored, replayed: false };
    } catch (error) {
      // With a TypeError, `node:sqlite` has refused a value before SQLite saw the value.
      if (!(error instanceof TypeError) && !isConstraint(error)) throw error;
      // If the ids are exhausted, SQLite does not report a taken key, so always look for the key.
      const row = idempotency && this.#statements.byIdempotencyKey.get(hashToBlob(idempotency.key));
      if (row !== undefined) return replay(row as unknown as PetRow, idempotency);
      return lastId >= MAX_PET_ID ? new PetIdsExhausted() : error;
    }
  }
}

function replay(row: PetRow, idempotency: Idempotency | undefined): InsertResult | Error {
  try {
    const pet = toArchivedPet(row);
    if (pet.idempotency?.fingerprint !== idempotency?.fingerprint) return new IdempotencyKeyReused();
    return { pet: petWithId(pet.id, pet), replayed: true };
  } catch (error) {
    if (error instanceof DamagedPet) return error;
    throw error;
  }
}
