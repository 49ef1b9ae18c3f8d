import { type Collection, type Db, type Filter, UUID } from 'mongodb';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import { type NewPet, type Pet, storedPet } from '../../domain/pet.ts';
import { Deadline } from './deadline.ts';
import { duplicateField } from './errors.ts';
import { FreshReads } from './fresh-reads.ts';
import { IdAllocator } from './id-allocator.ts';
import { hasPetId, isOf, petIds, toArchivedPet, toPet } from './pet-document.ts';
import { countersOf, type PetDocument, petsOf, STATUS_INDEX, toLong } from './schema.ts';

/** Every call is over after this time, with an answer or with {@link StorageUnavailable}. */
const DEADLINE_MS = 10_000;

const MAX_STRANGERS = 5;

const PET_FIELDS = { name: 1, categoryId: 1, status: 1 } as const;

/** Pets in MongoDB, shared by any number of processes. */
export class MongoPetRepository implements PetRepository {
  readonly #pets: Collection<PetDocument>;
  readonly #ids: IdAllocator;
  readonly #deadlineMs: number;
  readonly #reads: FreshReads;

  constructor(db: Db, deadlineMs = DEADLINE_MS, reads = new FreshReads(db)) {
    this.#pets = petsOf(db);
    this.#ids = new IdAllocator(countersOf(db), this.#pets);
    this.#deadlineMs = deadlineMs;
    this.#reads = reads;
  }

  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#store(pet);
    return inserted.pet;
  }

  async insertOnce(pet: NewPet, { ...idempotency }: Idempotency): Promise<Inserted> {
    try {
      return await this.#store(pet, idempotency);
    } catch (error) {
      if (!(error instanceof PetIdsExhausted)) throw error;
      // No id is left for a new pet, but the key may be known.
      const known = await this.#read(() => this.#durable({ 'idem.k': idempotency.key }), isNull);
      if (known === null) throw error;
      return replay(known, idempotency);
    }
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    const filter = { _id: toLong(id) };
    const options = { projection: PET_FIELDS } as const;
    // Pets never change: what was found is right, whichever primary has said so.
    const found = await this.#read(() => this.#pets.findOne(filter, options), isNull);
    return found === null || !hasPetId(found) ? undefined : toPet(found);
  }

  async list({ status, after = 0n, limit }: PetQuery): Promise<readonly Pet[]> {
    const filter = { ...(status !== undefined && { status }), ...petIds({ after }) };
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
    return parseStoredPage(found, after, toPet);
  }

  #read<T>(work: () => Promise<T>, isMiss?: (result: T) => boolean): Promise<T> {
    return this.#reads.read(new Deadline(this.#deadlineMs), work, isMiss);
  }

  async #store(pet: NewPet, idempotency?: Idempotency): Promise<Inserted> {
    const deadline = new Deadline(this.#deadlineMs);
    // A copy: the caller may change what it passed while we wait.
    return deadline.bound(this.#insert({ ...pet }, idempotency, deadline));
  }

  async #insert(pet: NewPet, idempotency: Idempotency | undefined, deadline: Deadline): Promise<Inserted> {
    const op = new UUID();
    for (let strangers = 0; strangers < MAX_STRANGERS; strangers++) {
      const id = await deadline.retry(() => this.#ids.next(deadline));
      // The same document in every attempt: whichever attempt succeeds, there is one pet.
      const document = toDocument(id, pet, op, idempotency);
      const stored = await deadline.retry(() => this.#insertDocument(document));
      if (isOf(op, stored)) return { pet: storedPet(id, pet), replayed: false };
      if (idempotency !== undefined && stored.idem?.k === idempotency.key) return replay(stored, idempotency);
      this.#ids.fellBehind();
    }
    throw new StorageUnavailable(`${MAX_STRANGERS} ids in a row were taken by somebody else`);
  }

  /**
   * @returns what is stored, durably, under the id or the idempotency key of the document: the document itself,
   *   written now or by an earlier attempt, or whatever was there before it
   */
  async #insertDocument(document: PetDocument): Promise<PetDocument> {
    try {
      await this.#pets.insertOne(document);
      return document;
    } catch (error) {
      const field = duplicateField(error);
      if (field !== '_id' && field !== 'idem.k') throw error;
      const owner = await this.#durable(
        field === '_id' ? { _id: document._id } : { 'idem.k': document.idem?.k ?? '' },
      );
      if (owner === null) throw new StorageUnavailable('the pet is not yet durable', { cause: error });
      return owner;
    }
  }

  /** Only what can no longer be rolled back: our own document may be on a primary that is about to lose it. */
  #durable(filter: Filter<PetDocument>): Promise<PetDocument | null> {
    return this.#pets.findOne(filter);
  }
}

function isNull(result: unknown): boolean {
  return result === null;
}

function replay(stored: PetDocument, { fingerprint }: Idempotency): Inserted {
  if (!hasPetId(stored)) throw new StorageUnavailable('what has the idempotency key is no pet');
  const pet = toArchivedPet(stored);
  if (pet.idempotency?.fingerprint !== fingerprint) throw new IdempotencyKeyReused();
  return { pet: storedPet(pet.id, pet), replayed: true };
}

function toDocument(
  id: bigint,
  { name, categoryId, status }: NewPet,
  op: UUID,
  idempotency: Idempotency | undefined,
): PetDocument {
  const document = { _id: toLong(id), name, categoryId: toLong(categoryId), status, op };
  if (idempotency === undefined) return document;
  return { ...document, idem: { k: idempotency.key, fp: idempotency.fingerprint } };
}
