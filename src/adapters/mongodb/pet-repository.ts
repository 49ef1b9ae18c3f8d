import { type Collection, type Db, type Filter, UUID } from 'mongodb';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageMeter } from '../../application/ports/storage-meter.ts';
import { type NewPet, type Pet, storedPet } from '../../domain/pet.ts';
import { Batcher } from './batcher.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import { type Deadline, withDeadline } from './connection/deadline.ts';
import { duplicateField, rejectedIndexes } from './connection/mongo-errors.ts';
import { IdempotencyIndex } from './idempotency-index.ts';
import { IdAllocator } from './id-allocator.ts';
import { decodePet } from './pet-bytes.ts';
import { hasPetId, isWrittenBy, toArchivedPet, toPetDocument } from './pet-document.ts';
import { PetReader } from './pet-reader.ts';
import { countersOf, type PetDocument, petsOf } from './schema/collections.ts';
import { toLong } from './schema/long.ts';

const CALL_TIMEOUT_MS = 10_000;

/** How many allocated ids in a row may already be in use. */
const MAX_ID_CONFLICTS = 5;

const NONE: ReadonlySet<PetDocument> = new Set();

export type MongoPetOptions = {
  /** The limit of every call. Default: 10 s. */
  readonly timeoutMs?: number | undefined;
  readonly meter?: StorageMeter | undefined;
};

/** Pets in MongoDB, shared by any number of processes. */
export class MongoPetRepository implements PetRepository {
  readonly #pets: Collection<PetDocument>;
  readonly #reader: PetReader;
  readonly #inserts = new Batcher((documents: readonly PetDocument[]) => this.#insertAll(documents));
  readonly #ids: IdAllocator;
  readonly #idempotencyIndex: IdempotencyIndex;
  readonly #reads: ConfirmedReads;
  readonly #timeoutMs: number;
  readonly #meter: StorageMeter | undefined;

  constructor(db: Db, reads: ConfirmedReads, { timeoutMs = CALL_TIMEOUT_MS, meter }: MongoPetOptions = {}) {
    this.#pets = petsOf(db);
    this.#reader = new PetReader(this.#pets);
    this.#ids = new IdAllocator(countersOf(db), this.#pets, meter);
    this.#idempotencyIndex = new IdempotencyIndex(db);
    this.#reads = reads;
    this.#timeoutMs = timeoutMs;
    this.#meter = meter;
  }

  /**
   * @throws {PetIdsExhausted}
   * @throws {StorageUnavailable}
   */
  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#store(pet);
    return inserted.pet;
  }

  /**
   * @throws {IdempotencyKeyReused}
   * @throws {PetIdsExhausted}
   * @throws {DamagedPet} if the pet with this idempotency key is damaged
   * @throws {StorageUnavailable}
   */
  async insertOnce(pet: NewPet, { ...idempotency }: Idempotency): Promise<Inserted> {
    try {
      return await this.#store(pet, idempotency);
    } catch (error) {
      if (!(error instanceof PetIdsExhausted)) throw error;
      // The key may belong to an existing pet, which needs no new id.
      const existing = await this.#read(() => this.#durable({ 'idem.k': idempotency.key }), isNull);
      if (existing === null) throw error;
      return replay(existing, idempotency);
    }
  }

  /**
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  async findById(id: bigint): Promise<Pet | undefined> {
    const key = toLong(id);
    // Pets never change: only a miss can be out of date.
    const found = await this.#read(() => this.#reader.find(key), isUndefined);
    return found && decodePet(found);
  }

  /**
   * @throws {DamagedPet}
   * @throws {StorageUnavailable}
   */
  async list({ status, after = 0n, limit }: PetQuery): Promise<readonly Pet[]> {
    const query = { status, after, limit };
    return this.#read(() => this.#reader.page(query));
  }

  #read<T>(read: () => Promise<T>, isMiss?: (result: T) => boolean): Promise<T> {
    return this.#reads.read(this.#timeoutMs, read, isMiss);
  }

  #store(pet: NewPet, idempotency?: Idempotency): Promise<Inserted> {
    // A copy: the caller may change its object during the call.
    const copy = { ...pet };
    return withDeadline(this.#timeoutMs, (deadline) => this.#insert(copy, idempotency, deadline));
  }

  async #insert(pet: NewPet, idempotency: Idempotency | undefined, deadline: Deadline): Promise<Inserted> {
    if (idempotency !== undefined) await this.#idempotencyIndex.require(deadline);
    const insertToken = new UUID();
    for (let conflicts = 0; conflicts < MAX_ID_CONFLICTS; conflicts++) {
      const id = await deadline.retry(() => this.#ids.next(deadline));
      // Every attempt writes the same document: there is one pet, whichever attempt succeeds.
      const document = toPetDocument({ ...pet, id }, idempotency, insertToken);
      const stored = await deadline.retry(() => this.#insertDocument(document));
      if (isWrittenBy(insertToken, stored)) return { pet: storedPet(id, pet), replayed: false };
      if (idempotency !== undefined && stored.idem?.k === idempotency.key) return replay(stored, idempotency);
      this.#ids.fellBehind();
    }
    throw new StorageUnavailable(`${MAX_ID_CONFLICTS} allocated ids in a row were already in use`);
  }

  /**
   * @returns the durable document with this `_id` or idempotency key: `document` itself, written now or by an earlier
   *   attempt, or one that existed before
   */
  async #insertDocument(document: PetDocument): Promise<PetDocument> {
    try {
      const rejected = await this.#inserts.add(document);
      // Alone, because the driver does not pass on which index has rejected a document of several.
      if (rejected.has(document)) await this.#pets.insertOne(document);
      return document;
    } catch (error) {
      const field = duplicateField(error);
      if (field !== '_id' && field !== 'idem.k') throw error;
      const existing = await this.#durable(
        field === '_id' ? { _id: document._id } : { 'idem.k': document.idem?.k ?? '' },
      );
      if (existing === null) throw new StorageUnavailable('the pet is not yet durable', { cause: error });
      return existing;
    }
  }

  /** @returns the documents that the server has rejected; all others are durable */
  async #insertAll(documents: readonly PetDocument[]): Promise<ReadonlySet<PetDocument>> {
    const [first] = documents;
    if (first !== undefined && documents.length === 1) {
      await this.#pets.insertOne(first);
      this.#meter?.insertsCommitted(1);
      return NONE;
    }
    try {
      await this.#pets.insertMany(documents, { ordered: false });
      this.#meter?.insertsCommitted(documents.length);
      return NONE;
    } catch (error) {
      const rejected = rejectedIndexes(error);
      if (rejected.length === 0) throw error;
      this.#meter?.insertsCommitted(documents.length - rejected.length);
      return new Set(rejected.map((index) => documents[index]!));
    }
  }

  /** A majority read: a primary that is about to step down may lose a document that only it has. */
  #durable(filter: Filter<PetDocument>): Promise<PetDocument | null> {
    return this.#pets.findOne(filter);
  }
}

function isUndefined(result: unknown): boolean {
  return result === undefined;
}

function isNull(result: unknown): boolean {
  return result === null;
}

function replay(existing: PetDocument, { fingerprint }: Idempotency): Inserted {
  if (!hasPetId(existing)) throw new StorageUnavailable('the document with the idempotency key is not a pet');
  const pet = toArchivedPet(existing);
  if (pet.idempotency?.fingerprint !== fingerprint) throw new IdempotencyKeyReused();
  return { pet: storedPet(pet.id, pet), replayed: true };
}
