import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import { translated } from './errors.ts';
import type { InsertQueue } from './insert-queue.ts';
import { type PetRow, QUERIES, toPet } from './statements.ts';

/** Less than every id. */
const BEGINNING = 0n;

/** Pets in a SQLite file. Reads are done at once: a page is some microseconds. Inserts wait for their turn. */
export class SqlitePetRepository implements PetRepository {
  readonly #inserts: InsertQueue;
  readonly #byId: StatementSync;
  readonly #list: StatementSync;
  readonly #listByStatus: StatementSync;

  constructor(db: DatabaseSync, inserts: InsertQueue) {
    this.#inserts = inserts;
    this.#byId = db.prepare(QUERIES.byId);
    this.#list = db.prepare(QUERIES.list);
    this.#listByStatus = db.prepare(QUERIES.listByStatus);
  }

  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#inserts.add(pet);
    return inserted.pet;
  }

  async insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted> {
    return this.#inserts.add(pet, idempotency);
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    const [pet] = read(() => this.#byId.all(id));
    return pet;
  }

  async list({ status, after = BEGINNING, limit }: PetQuery): Promise<readonly Pet[]> {
    return read(() =>
      status === undefined ? this.#list.all(after, limit) : this.#listByStatus.all(status, after, limit),
    );
  }
}

function read(query: () => ReturnType<StatementSync['all']>): readonly Pet[] {
  try {
    return (query() as PetRow[]).map(toPet);
  } catch (error) {
    throw translated(error);
  }
}
