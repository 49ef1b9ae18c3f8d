import { type Collection, type Db, MongoBulkWriteError } from 'mongodb';
import { IdempotencyKeyTaken, PetIdTaken } from '../../application/archive-errors.ts';
import { StorageUnavailable } from '../../application/errors.ts';
import { pageFromStorage } from '../../application/pet-from-storage.ts';
import type { ArchivedPet, PetArchive } from '../../application/ports/pet-archive.ts';
import { samePet } from '../../application/same-pet.ts';
import { SETTLED } from './concerns.ts';
import { Deadline } from './deadline.ts';
import { DUPLICATE_KEY } from './errors.ts';
import { raiseCounter } from './id-allocator.ts';
import { hasPetId, petIds, toArchivedPet } from './pet-document.ts';
import { type CounterDocument, countersOf, type PetDocument, petsOf, toLong } from './schema.ts';

/** How long a call may take: long enough to sit out an election, and more, in the middle of a long copy. */
const DEADLINE_MS = 60_000;

/** A count looks at every pet: some seconds for ten million. */
const COUNT_DEADLINE_MS = 600_000;

const PET_FIELDS = { name: 1, categoryId: 1, status: 1, idem: 1 } as const;

/** The pets in MongoDB, also while services are writing to it. */
export class MongoPetArchive implements PetArchive {
  readonly #pets: Collection<PetDocument>;
  readonly #counters: Collection<CounterDocument>;

  constructor(db: Db) {
    this.#pets = petsOf(db);
    this.#counters = countersOf(db);
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
      ...SETTLED,
    } as const;
    const found = await persistently(() => this.#pets.find(filter, options).toArray());
    return pageFromStorage(found, after, toArchivedPet);
  }

  async write(pets: readonly ArchivedPet[]): Promise<void> {
    if (pets.length === 0) return;
    const documents = pets.map(toDocument);
    await persistently(() => this.#write(documents));
  }

  async lastId(): Promise<bigint> {
    return persistently(async () => {
      const [counter, highest] = await Promise.all([
        this.#counters.findOne({ _id: 'pets' }, SETTLED),
        this.#pets.findOne(petIds({}), { projection: { _id: 1 }, sort: { _id: -1 }, ...SETTLED }),
      ]);
      const ids = [counter?.last, highest?._id].map((id) => (id === undefined ? 0n : BigInt(id.toString())));
      return ids.reduce((a, b) => (a > b ? a : b));
    });
  }

  async reserve(id: bigint): Promise<void> {
    await persistently(() => raiseCounter(this.#counters, this.#pets, id));
  }

  async count(upTo: bigint): Promise<number> {
    const filter = petIds({ upTo });
    return persistently(() => this.#pets.countDocuments(filter, SETTLED), COUNT_DEADLINE_MS);
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
    const found = await this.#pets.find(filter, { projection: PET_FIELDS, ...SETTLED }).toArray();
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
      const owner = await this.#pets.findOne(filter, { projection: { _id: 1 }, ...SETTLED });
      if (owner !== null) throw new IdempotencyKeyTaken(id);
    }
    throw new StorageUnavailable('the pet is not yet durable');
  }
}

/** Every call here may be repeated. */
async function persistently<T>(work: () => Promise<T>, ms = DEADLINE_MS): Promise<T> {
  const deadline = new Deadline(ms);
  return deadline.bound(deadline.retry(work));
}

function toDocument({ id, name, categoryId, status, idempotency }: ArchivedPet): PetDocument {
  const document = { _id: toLong(id), name, categoryId: toLong(categoryId), status };
  if (idempotency === undefined) return document;
  return { ...document, idem: { k: idempotency.key, fp: idempotency.fingerprint } };
}
