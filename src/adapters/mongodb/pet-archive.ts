import { type ClientSession, type Collection, type Db, MongoBulkWriteError } from 'mongodb';
import { IdempotencyKeyTaken, PetIdTaken } from '../../application/maintenance/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import { type ArchivedPet, type PetArchive, samePet } from '../../application/ports/pet-archive.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import { withDeadline } from './connection/deadline.ts';
import { CODES, isServerError } from './connection/server-error-codes.ts';
import { lastId, reserveIds } from './pet-ids.ts';
import {
  hasPetId,
  isFence,
  page,
  PET_FIELDS,
  petIds,
  type StoredPetDocument,
  toArchivedPet,
  toPetDocument,
} from './pet-document.ts';
import { toBigInt } from './int64.ts';
import { type PetDocument, petsOf } from './schema/collections.ts';

/**
 * Longer than an election, and longer than the server keeps the transaction of a killed import (60 s):
 * https://www.mongodb.com/docs/manual/reference/parameters/#mongodb-parameter-param.transactionLifetimeLimitSeconds
 */
const CALL_TIMEOUT_MS = 90_000;

/** A count reads every pet, which takes some seconds for ten million pets. */
const COUNT_TIMEOUT_MS = 600_000;

const ARCHIVED_FIELDS = { ...PET_FIELDS, idem: 1 } as const;

/** May be used while services add pets. */
export class MongoPetArchive implements PetArchive {
  readonly #pets: Collection<PetDocument>;
  readonly #db: Db;
  readonly #reads: ConfirmedReads;

  constructor(db: Db, reads: ConfirmedReads) {
    this.#pets = petsOf(db);
    this.#db = db;
    this.#reads = reads;
  }

  async read(after: bigint, limit: number): Promise<readonly ArchivedPet[]> {
    const filter = petIds({ after });
    const options = { projection: ARCHIVED_FIELDS, ...page(limit) } as const;
    const documents = await this.#read(() => this.#pets.find(filter, options).toArray());
    return parseStoredPage(documents, after, toArchivedPet);
  }

  async write(pets: readonly ArchivedPet[]): Promise<void> {
    if (pets.length === 0) return;
    const documents = pets.map((pet) => toPetDocument(pet, pet.idempotency));
    // `#read` first confirms the primary, which sets `isStandalone` for `#replaceFence`.
    await this.#read(() => this.#write(documents));
  }

  async greatestId(): Promise<bigint> {
    const options = { projection: { _id: 1 }, sort: { _id: -1 } } as const;
    const document = await this.#read(() => this.#pets.findOne(petIds({}), options));
    return document === null ? 0n : toBigInt(document._id);
  }

  async lastId(): Promise<bigint> {
    return this.#read(() => lastId(this.#db));
  }

  async reserve(id: bigint): Promise<void> {
    await withDeadline(CALL_TIMEOUT_MS, (deadline) => deadline.retry(() => reserveIds(this.#db, id)));
  }

  async count(upTo: bigint): Promise<number> {
    const filter = petIds({ upTo });
    return this.#read(() => this.#pets.countDocuments(filter), COUNT_TIMEOUT_MS);
  }

  #read<T>(read: () => Promise<T>, timeoutMs = CALL_TIMEOUT_MS): Promise<T> {
    return this.#reads.read(timeoutMs, read);
  }

  async #write(documents: readonly PetDocument[]): Promise<void> {
    try {
      await this.#pets.insertMany(documents, { ordered: false });
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      const failures = [error.writeErrors].flat();
      if (failures.length === 0 || failures.some(({ code }) => code !== CODES.DuplicateKey)) throw error;
      await this.#acceptDuplicates(failures.map(({ index }) => documents[index]!));
    }
  }

  /** Resolves if the same pet is durably stored for every rejected document. */
  async #acceptDuplicates(documents: readonly PetDocument[]): Promise<void> {
    const filter = { _id: { $in: documents.map(({ _id }) => _id) } };
    const projection = { ...ARCHIVED_FIELDS, upTo: 1 };
    const storedDocuments = await this.#pets.find<StoredPetDocument>(filter, { projection }).toArray();
    const storedById = new Map(storedDocuments.map((document) => [String(document._id), document]));
    for (const document of documents) {
      const pet = toArchivedPet(document);
      const existing = storedById.get(String(document._id));
      if (existing === undefined) await this.#refuseKeyConflict(document);
      else if (isFence(existing)) await this.#replaceFence(document);
      else if (!hasPetId(existing) || !samePet(toArchivedPet(existing), pet)) throw new PetIdTaken(pet.id);
    }
  }

  /**
   * A fence only reserves ids. Uses a transaction, because a service could take the free id. A standalone server has no
   * transactions.
   */
  async #replaceFence(document: PetDocument): Promise<void> {
    const replace = async (options: { readonly session?: ClientSession }) => {
      const fence = { _id: document._id, upTo: { $exists: true } };
      const { deletedCount } = await this.#pets.deleteOne(fence, options);
      if (deletedCount === 0) throw new StorageUnavailable('another import has replaced the fence');
      await this.#pets.insertOne(document, options);
    };
    try {
      if (this.#reads.isStandalone) return await replace({});
      await this.#db.client.withSession((session) => session.withTransaction(() => replace({ session })));
    } catch (error) {
      if (isServerError(error, 'DuplicateKey')) await this.#refuseKeyConflict(document);
      throw error;
    }
  }

  async #refuseKeyConflict({ _id, idem }: PetDocument): Promise<never> {
    if (idem !== undefined) {
      const filter = { 'idem.k': idem.k, _id: { $ne: _id } };
      const petWithKey = await this.#pets.findOne(filter, { projection: { _id: 1 } });
      if (petWithKey !== null) throw new IdempotencyKeyTaken(toBigInt(_id));
    }
    throw new StorageUnavailable('the pet is not yet durable');
  }
}
