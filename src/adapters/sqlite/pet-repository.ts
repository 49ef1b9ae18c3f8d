import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import { translated } from './errors.ts';
import type { InsertQueue } from './insert-queue.ts';
import { type PetReader, petReader } from './pet-reader.ts';
import { type PetRow, QUERIES } from './statements.ts';

/** Less than every id. */
const BEGINNING = 0n;

/** Pets in a SQLite file. Reads are done at once: a page is some microseconds. Inserts wait for their turn. */
export class SqlitePetRepository implements PetRepository {
  readonly #inserts: InsertQueue;
  readonly #byId: StatementSync;
  readonly #list: StatementSync;
  readonly #listByStatus: StatementSync;
  readonly #toPet: PetReader['toPet'];

  constructor(db: DatabaseSync, inserts: InsertQueue) {
    this.#inserts = inserts;
    this.#byId = db.prepare(QUERIES.byId);
    this.#list = db.prepare(QUERIES.list);
    this.#listByStatus = db.prepare(QUERIES.listByStatus);
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
    return read(() => {
      const [row] = this.#byId.all(id) as PetRow[];
      return row && this.#toPet(row);
    });
  }

  async list({ status, after = BEGINNING, limit }: PetQuery): Promise<readonly Pet[]> {
    return read(() => {
      const rows =
        status === undefined ? this.#list.all(after, limit) : this.#listByStatus.all(status, after, limit);
      return parseStoredPage(rows as PetRow[], after, this.#toPet);
    });
  }
}

function read<T>(query: () => T): T {
  try {
    return query();
  } catch (error) {
    throw translated(error);
  }
}
