import type { DatabaseSync } from 'node:sqlite';
import { IdempotencyKeyTaken, PetIdTaken } from '../../application/maintenance/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import { type ArchivedPet, type PetArchive, samePet } from '../../application/ports/pet-archive.ts';
import { type ArchivedPetRow, type PetReader, petReader, toPetValues } from './pet-row.ts';
import { retryAndTranslate } from './errors.ts';
import type { ReadCache } from './read-cache.ts';
import type { DurableWrite } from './commit-queue.ts';
import { ARCHIVE_QUERIES, ARCHIVE_WRITES, prepareAll, type Prepared } from './statements.ts';

/**
 * Reads the pets of a SQLite file, even while a service writes to it. Writes need the service lock: a connection without
 * it is read-only, and SQLite refuses every write.
 */
export class SqlitePetArchive implements PetArchive {
  readonly #write: DurableWrite;
  readonly #cache: ReadCache | undefined;
  readonly #queries: Prepared<typeof ARCHIVE_QUERIES>;
  readonly #statements: Prepared<typeof ARCHIVE_WRITES>;
  readonly #toArchivedPet: PetReader['toArchivedPet'];

  /** @param cache is emptied by every write, because the ids of an archive come in any order */
  constructor(db: DatabaseSync, write: DurableWrite, cache?: ReadCache) {
    this.#write = write;
    this.#cache = cache;
    this.#queries = prepareAll(db, ARCHIVE_QUERIES, { returnArrays: true });
    this.#statements = prepareAll(db, ARCHIVE_WRITES, { returnArrays: true });
    this.#toArchivedPet = petReader(db).toArchivedPet;
  }

  async read(after: bigint, limit: number): Promise<readonly ArchivedPet[]> {
    return retryAndTranslate(() => {
      const rows = this.#queries.read.all(after, limit) as unknown as ArchivedPetRow[];
      return parseStoredPage(rows, after, this.#toArchivedPet);
    });
  }

  async greatestId(): Promise<bigint> {
    return retryAndTranslate(() => integerIn(this.#queries.greatestId.get()));
  }

  async lastId(): Promise<bigint> {
    return retryAndTranslate(() => integerIn(this.#queries.lastId.get()));
  }

  async count(upTo: bigint): Promise<number> {
    const count = await retryAndTranslate(() => integerIn(this.#queries.count.get(upTo)));
    return Number(count);
  }

  async write(pets: readonly ArchivedPet[]): Promise<void> {
    // Copies, because the caller may change its objects during the wait.
    const copies = pets.map(({ idempotency, ...pet }): ArchivedPet => {
      return idempotency === undefined ? pet : { ...pet, idempotency: { ...idempotency } };
    });
    await this.#write(() => {
      this.#cache?.clear();
      for (const pet of copies) this.#writeOne(pet);
    });
  }

  async reserve(id: bigint): Promise<void> {
    await this.#write(() => {
      this.#statements.createSequence.run();
      this.#statements.raiseSequence.run(id);
    });
  }

  #writeOne(pet: ArchivedPet): void {
    const { id } = pet;
    const { changes } = this.#statements.insert.run(...toPetValues(pet, pet.idempotency));
    if (changes !== 0n) return;
    const stored = this.#statements.byId.get(id) as unknown as ArchivedPetRow | undefined;
    if (stored === undefined) throw new IdempotencyKeyTaken(id);
    if (!samePet(this.#toArchivedPet(stored), pet)) throw new PetIdTaken(id);
  }
}

/** The value of a query that returns one integer. */
function integerIn(row: unknown): bigint {
  const [value] = row as readonly [bigint];
  return value;
}
