import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { IdempotencyKeyTaken, PetIdTaken } from '../../application/moving/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet, PetArchive, ReadablePetArchive } from '../../application/ports/pet-archive.ts';
import { samePet } from '../../application/moving/same-pet.ts';
import { transaction, whenReady } from './busy.ts';
import type { Guard } from './open-files.ts';
import { type PetReader, petReader } from './pet-reader.ts';
import { ARCHIVE_QUERIES, type ArchivedRow, INSERT_WITH_ID, RESERVE } from './statements.ts';

/** The pets of a SQLite file. Also of one that a service is writing to. */
export class ReadableSqlitePetArchive implements ReadablePetArchive {
  readonly #read: StatementSync;
  readonly #greatestId: StatementSync;
  readonly #lastId: StatementSync;
  readonly #count: StatementSync;
  protected readonly toArchivedPet: PetReader['toArchivedPet'];

  constructor(db: DatabaseSync) {
    this.toArchivedPet = petReader(db).toArchivedPet;
    this.#read = db.prepare(ARCHIVE_QUERIES.read);
    this.#greatestId = db.prepare(ARCHIVE_QUERIES.greatestId);
    this.#lastId = db.prepare(ARCHIVE_QUERIES.lastId);
    this.#count = db.prepare(ARCHIVE_QUERIES.count);
  }

  async read(after: bigint, limit: number): Promise<readonly ArchivedPet[]> {
    return whenReady(() => {
      const rows = this.#read.all(after, limit) as ArchivedRow[];
      return parseStoredPage(rows, after, this.toArchivedPet);
    });
  }

  async greatestId(): Promise<bigint> {
    const { id } = await whenReady(() => this.#greatestId.get() as { id: bigint });
    return id;
  }

  async lastId(): Promise<bigint> {
    const { id } = await whenReady(() => this.#lastId.get() as { id: bigint });
    return id;
  }

  async count(upTo: bigint): Promise<number> {
    const { n } = await whenReady(() => this.#count.get(upTo) as { n: bigint });
    return Number(n);
  }
}

/** The pets of a SQLite file that this process holds the lock of. */
export class SqlitePetArchive extends ReadableSqlitePetArchive implements PetArchive {
  readonly #db: DatabaseSync;
  readonly #guard: Guard;
  readonly #insert: StatementSync;
  readonly #byId: StatementSync;
  readonly #reserve: readonly StatementSync[];

  constructor(db: DatabaseSync, guard: Guard) {
    super(db);
    this.#db = db;
    this.#guard = guard;
    this.#insert = db.prepare(INSERT_WITH_ID);
    this.#byId = db.prepare(ARCHIVE_QUERIES.byId);
    this.#reserve = RESERVE.map((sql) => db.prepare(sql));
  }

  async write(pets: readonly ArchivedPet[]): Promise<void> {
    // Copies: the caller may change what it passed while we wait.
    const copies = pets.map(({ idempotency, ...pet }): ArchivedPet => {
      return idempotency === undefined ? pet : { ...pet, idempotency: { ...idempotency } };
    });
    await this.#write(() => {
      for (const pet of copies) this.#writeOne(pet);
    });
  }

  async reserve(id: bigint): Promise<void> {
    const [make, raise] = this.#reserve;
    await this.#write(() => {
      make?.run();
      raise?.run(id);
    });
  }

  async #write(work: () => void): Promise<void> {
    await whenReady(() => this.#guard(() => transaction(this.#db, work)));
  }

  #writeOne(pet: ArchivedPet): void {
    const { id, name, categoryId, status, idempotency } = pet;
    const { changes } = this.#insert.run(
      id,
      name,
      categoryId,
      status,
      // What is not 64 hex digits becomes shorter, which the table refuses.
      idempotency === undefined ? null : Buffer.from(idempotency.key, 'hex'),
      idempotency === undefined ? null : Buffer.from(idempotency.fingerprint, 'hex'),
    );
    if (changes !== 0n) return;
    const there = this.#byId.get(id) as ArchivedRow | undefined;
    if (there === undefined) throw new IdempotencyKeyTaken(id);
    if (!samePet(this.toArchivedPet(there), pet)) throw new PetIdTaken(id);
  }
}
