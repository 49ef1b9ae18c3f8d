import { type Collection, type Db, MongoBulkWriteError } from 'mongodb';
import { IdempotencyKeyTaken, PetIdTaken } from '../../application/moving/errors.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet, PetArchive } from '../../application/ports/pet-archive.ts';
import { samePet } from '../../application/moving/same-pet.ts';
import { Deadline } from './deadline.ts';
import { DUPLICATE_KEY } from './errors.ts';
import type { FreshReads } from './fresh-reads.ts';
import { raiseCounter, SOUND_COUNTER } from './id-allocator.ts';
import { hasPetId, petIds, toArchivedPet } from './pet-document.ts';
import { type CounterDocument, countersOf, type PetDocument, petsOf, toBigInt, toLong } from './schema.ts';

/** How long a call may take: long enough to sit out an election, and more, in the middle of a long copy. */
const DEADLINE_MS = 60_000;

/** A count looks at every pet: some seconds for ten million. */
const COUNT_DEADLINE_MS = 600_000;

const PET_FIELDS = { name: 1, categoryId: 1, status: 1, idem: 1 } as const;

/** The pets in MongoDB, also while services are writing to it. */
export class MongoPetArchive implements PetArchive {
  readonly #pets: Collection<PetDocument>;
  readonly #counters: Collection<CounterDocument>;
  readonly #reads: FreshReads;

  constructor(db: Db, reads: FreshReads) {
    this.#pets = petsOf(db);
    this.#counters = countersOf(db);
    this.#reads = reads;
  }

  async read(after: bigint, limit: number): Promise<readonly ArchivedPet[]> {
    const filter = petIds({ after });
    const options = {
      projection: PET_FIELDS,
      sort: { _id: 1 },
      limit,
      // One round trip: see the list of the repository.
      batchSize: limit,
      singleBatch: true,
    } as const;
    const found = await this.#read(() => this.#pets.find(filter, options).toArray());
    return parseStoredPage(found, after, toArchivedPet);
  }

  async write(pets: readonly ArchivedPet[]): Promise<void> {
    if (pets.length === 0) return;
    const documents = pets.map(toDocument);
    await persistently(() => this.#write(documents));
  }

  async greatestId(): Promise<bigint> {
    const options = { projection: { _id: 1 }, sort: { _id: -1 } } as const;
    const found = await this.#read(() => this.#pets.findOne(petIds({}), options));
    return found === null ? 0n : toBigInt(found._id);
  }

  async lastId(): Promise<bigint> {
    const [counter, greatest] = await Promise.all([
      this.#read(() => this.#counters.findOne(SOUND_COUNTER)),
      this.greatestId(),
    ]);
    const given = counter === null ? 0n : toBigInt(counter.last);
    return given > greatest ? given : greatest;
  }

  async reserve(id: bigint): Promise<void> {
    await persistently(() => raiseCounter(this.#counters, this.#pets, id));
  }

  async count(upTo: bigint): Promise<number> {
    const filter = petIds({ upTo });
    return this.#read(() => this.#pets.countDocuments(filter), COUNT_DEADLINE_MS);
  }

  #read<T>(work: () => Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
    return this.#reads.read(new Deadline(deadlineMs), work);
  }

  async #write(documents: readonly PetDocument[]): Promise<void> {
    try {
      await this.#pets.insertMany(documents, { ordered: false });
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      const failures = [error.writeErrors].flat();
      if (failures.length === 0 || failures.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
      await this.#settle(failures.map(({ index }) => documents[index]!));
    }
  }

  /** Resolves when what was refused as a duplicate is there already: one by one, in a state that will stay. */
  async #settle(documents: readonly PetDocument[]): Promise<void> {
    const filter = { _id: { $in: documents.map(({ _id }) => _id) } };
    const found = await this.#pets.find(filter, { projection: PET_FIELDS }).toArray();
    const stranger = found.find((document) => !hasPetId(document));
    if (stranger !== undefined) throw new PetIdTaken(BigInt(Number(String(stranger._id))));
    const there = new Map(found.map(toArchivedPet).map((pet) => [pet.id, pet]));
    for (const document of documents) {
      const pet = toArchivedPet(document);
      const owner = there.get(pet.id);
      if (owner === undefined) await this.#settleKey(document, pet.id);
      else if (!samePet(owner, pet)) throw new PetIdTaken(pet.id);
    }
  }

  async #settleKey({ _id, idem }: PetDocument, id: bigint): Promise<never> {
    if (idem !== undefined) {
      const filter = { 'idem.k': idem.k, _id: { $ne: _id } };
      const owner = await this.#pets.findOne(filter, { projection: { _id: 1 } });
      if (owner !== null) throw new IdempotencyKeyTaken(id);
    }
    throw new StorageUnavailable('the pet is not yet durable');
  }
}

/** Every call here may be repeated. */
async function persistently<T>(work: () => Promise<T>): Promise<T> {
  const deadline = new Deadline(DEADLINE_MS);
  return deadline.bound(deadline.retry(work));
}

function toDocument({ id, name, categoryId, status, idempotency }: ArchivedPet): PetDocument {
  const document = { _id: toLong(id), name, categoryId: toLong(categoryId), status };
  if (idempotency === undefined) return document;
  return { ...document, idem: { k: idempotency.key, fp: idempotency.fingerprint } };
}
