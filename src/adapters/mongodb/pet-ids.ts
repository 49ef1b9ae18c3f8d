import { type Db, type Document, Double, type FindOptions, Long } from 'mongodb';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import { CODES } from './connection/server-error-codes.ts';
import { isFence, type StoredPetDocument } from './pet-document.ts';
import { isLong, toBigInt, toLong } from './int64.ts';
import { durableConcern, type FenceDocument, petsOf } from './schema/collections.ts';

/** Reads what the primary has now, even if no majority has it yet. */
export const LATEST = { readConcern: { level: 'local' } } as const;

/** Why a document was rejected: https://www.mongodb.com/docs/manual/reference/command/insert/#output */
export type Failure = {
  readonly index: number;
  readonly code: number;
  readonly errmsg: string;
  readonly keyPattern?: Readonly<Record<string, unknown>>;
};

/**
 * Inserts in order, and stops at the first document that is rejected. The driver never repeats this command: see
 * docs/explanation/ids-on-mongodb.md#what-an-election-can-do.
 *
 * @returns why the insert ended before its last document
 * @throws {MongoWriteConcernError} if no majority has confirmed the insert
 */
export async function insertInOrder(db: Db, documents: readonly Document[]): Promise<Failure | undefined> {
  const insert = { insert: 'pets', documents, ordered: true, writeConcern: durableConcern(db) };
  const { writeErrors }: { readonly writeErrors?: readonly Failure[] } = await db.command(insert);
  return writeErrors?.[0];
}

type ReadLastId = (db: Db, options?: FindOptions) => Promise<bigint>;

/** The greatest id that is taken or reserved, or 0. If a pet were removed, its id could be assigned again. */
export const lastId: WhilePetsNeverChange<ReadLastId> = async (db, options) =>
  (await greatestTaken(db, options)).upTo;

/**
 * Inserts two fences (documents that only reserve ids), so that every service assigns only ids greater than `id`: see
 * docs/explanation/ids-on-mongodb.md#fences. Does not retry.
 *
 * @throws {StorageUnavailable}
 */
export async function reserveIds(db: Db, id: bigint): Promise<void> {
  for (;;) {
    const last = await greatestTaken(db);
    // Also completes a reservation that another process has begun, because services already respect it.
    if (last.id < last.upTo) await putFence(db, last.upTo, last.upTo);
    else if (last.id < id) await putFence(db, last.id + 1n, id);
    else return;
  }
}

type Taken = {
  readonly id: bigint;
  /** Ids up to this one are taken or reserved. */
  readonly upTo: bigint;
};

/** An `_id` takes an id, whatever the type of the number. */
async function greatestTaken(db: Db, options: FindOptions = {}): Promise<Taken> {
  const found = await petsOf(db).findOne<StoredPetDocument>(
    { _id: { $gte: Long.ONE, $lte: toLong(MAX_PET_ID) } },
    { projection: { _id: 1, upTo: 1 }, sort: { _id: -1 }, ...options },
  );
  if (found === null) return { id: 0n, upTo: 0n };
  const id = BigInt(Math.floor(Number(String(found._id))));
  const upTo = isFence(found) && isLong(found.upTo) ? toBigInt(found.upTo) : id;
  return { id, upTo: upTo > id && upTo <= MAX_PET_ID ? upTo : id };
}

/** Resolves when a majority has a document with the id. */
export async function putFence(db: Db, id: bigint, upTo: bigint): Promise<void> {
  const fence: FenceDocument = { _id: new Double(Number(id)), upTo: toLong(upTo) };
  const failure = await insertInOrder(db, [fence]);
  if (failure !== undefined && failure.code !== CODES.DuplicateKey) {
    throw new StorageUnavailable(`the ids up to ${id} are not yet reserved`);
  }
}
