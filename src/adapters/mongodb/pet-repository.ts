import { type Collection, type Db, UUID } from 'mongodb';
import { StorageUnavailable } from '../../application/errors.ts';
import type { PetQuery, PetRepository } from '../../application/ports/pet-repository.ts';
import { type NewPet, type Pet, storedPet } from '../../domain/pet.ts';
import { Deadline } from './deadline.ts';
import { isDuplicateId } from './errors.ts';
import { IdAllocator } from './id-allocator.ts';
import { countersOf, type PetDocument, petsOf, STATUS_INDEX, toBigInt, toLong } from './schema.ts';

/** Every call is over after this time, with an answer or with {@link StorageUnavailable}. */
const DEADLINE_MS = 10_000;

const MAX_STRANGERS = 5;

const PET_FIELDS = { name: 1, categoryId: 1, status: 1 } as const;

/** Pets in MongoDB, shared by any number of processes. */
export class MongoPetRepository implements PetRepository {
  readonly #pets: Collection<PetDocument>;
  readonly #ids: IdAllocator;
  readonly #deadlineMs: number;

  constructor(db: Db, deadlineMs = DEADLINE_MS) {
    this.#pets = petsOf(db);
    this.#ids = new IdAllocator(countersOf(db), this.#pets);
    this.#deadlineMs = deadlineMs;
  }

  async insert(pet: NewPet): Promise<Pet> {
    const deadline = new Deadline(this.#deadlineMs);
    // A copy: the caller may change what it passed while we wait.
    return deadline.bound(this.#insert({ ...pet }, deadline));
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    const filter = { _id: toLong(id) };
    const found = await this.#read(() => this.#pets.findOne(filter, { projection: PET_FIELDS }));
    return found === null ? undefined : toPet(found);
  }

  async list({ status, after, limit }: PetQuery): Promise<readonly Pet[]> {
    const filter = {
      ...(status !== undefined && { status }),
      ...(after !== undefined && { _id: { $gt: toLong(after) } }),
    };
    const options = {
      projection: PET_FIELDS,
      sort: { _id: 1 },
      limit,
      // One round trip: without a batch size the server would cut the only batch at 101.
      batchSize: limit,
      singleBatch: true,
      // Else the planner may choose to walk all pets by id when it sees many with the status at the beginning.
      ...(status !== undefined && { hint: STATUS_INDEX.name }),
    } as const;
    const found = await this.#read(() => this.#pets.find(filter, options).toArray());
    return found.map(toPet);
  }

  #read<T>(work: () => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#deadlineMs);
    return deadline.bound(deadline.retry(work));
  }

  async #insert(pet: NewPet, deadline: Deadline): Promise<Pet> {
    const op = new UUID();
    for (let strangers = 0; strangers < MAX_STRANGERS; strangers++) {
      const id = await deadline.retry(() => this.#ids.next(deadline));
      // The same document in every attempt: whichever attempt succeeds, there is one pet.
      const document = toDocument(id, pet, op);
      if (await deadline.retry(() => this.#insertOnce(document, op))) return storedPet(id, pet);
      this.#ids.fellBehind();
    }
    throw new StorageUnavailable(`${MAX_STRANGERS} ids in a row were taken by somebody else`);
  }

  /**
   * @returns whether the document is stored, durably, now or by an earlier attempt; `false` when the id belongs to
   *   somebody else's pet, which is a reason to take another
   */
  async #insertOnce(document: PetDocument, op: UUID): Promise<boolean> {
    try {
      await this.#pets.insertOne(document);
      return true;
    } catch (error) {
      if (!isDuplicateId(error)) throw error;
      const owner = await this.#pets.findOne(
        { _id: document._id },
        // Only what can no longer be rolled back settles it. In particular our own document may be on a primary
        // that is about to lose it.
        { projection: { op: 1 }, readPreference: 'primary', readConcern: { level: 'majority' } },
      );
      if (owner === null) throw new StorageUnavailable('the pet is not yet durable', { cause: error });
      return owner.op !== undefined && op.equals(owner.op);
    }
  }
}

function toDocument(id: bigint, { name, categoryId, status }: NewPet, op: UUID): PetDocument {
  return { _id: toLong(id), name, categoryId: toLong(categoryId), status, op };
}

function toPet({ _id, name, categoryId, status }: PetDocument): Pet {
  return storedPet(toBigInt(_id), { name, categoryId: toBigInt(categoryId), status });
}
