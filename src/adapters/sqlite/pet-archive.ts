import type { DatabaseSync } from 'node:sqlite';
import { IdempotencyKeyTaken, PetIdTaken } from '../../application/maintenance/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import { type ArchivedPet, type PetArchive, samePet } from '../../application/ports/pet-archive.ts';
import { type PetRow, toArchivedPet, toPetValues } from './pet-row.ts';
import { retryAndTranslate } from './errors.ts';
import type { ReadCache } from './read-cache.ts';
import type { DurableWrite } from './commit-queue.ts';
import { ARCHIVE_STATEMENTS, integerIn, prepareAll, type Prepared } from './statements.ts';

/** Can be read while a service writes. A write needs the service lock. */
export class SqlitePetArchive implements PetArchive {
  readonly #write: DurableWrite;
  readonly #cache: ReadCache | undefined;
  readonly #statements: Prepared<typeof ARCHIVE_STATEMENTS>;

  constructor(db: DatabaseSync, write: DurableWrite, cache?: ReadCache) {
    this.#write = write;
    this.#cache = cache;
    this.#statements = prepareAll(db, ARCHIVE_STATEMENTS, { returnArrays: true });
  }

  async read(after: bigint, limit: number): Promise<readonly ArchivedPet[]> {
    return retryAndTranslate(() => {
      const rows = this.#statements.read.all(after, limit) as unknown as PetRow[];
      return parseStoredPage(rows, after, toArchivedPet);
    });
  }

  async greatestId(): Promise<bigint> {
    return retryAndTranslate(() => integerIn(this.#statements.greatestId.get()));
  }

  async lastId(): Promise<bigint> {
    return retryAndTranslate(() => integerIn(this.#statements.lastId.get()));
  }

  async count(upTo: bigint): Promise<number> {
    return retryAndTranslate(() => Number(integerIn(this.#statements.count.get(upTo))));
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
    const stored = this.#statements.byId.get(id) as unknown as PetRow | undefined;
    if (stored === undefined) throw new IdempotencyKeyTaken(id);
    if (!samePet(toArchivedPet(stored), pet)) throw new PetIdTaken(id);
  }
}
