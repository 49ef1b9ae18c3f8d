import type { Collection, Db, Double, Long, UUID } from 'mongodb';
import type { ApiKey } from '../../../domain/api-key.ts';
import type { NewPet } from '../../../domain/pet.ts';

/** The value of a field as BSON. */
type BsonOf<Value> = Value extends bigint ? Long : Value extends undefined ? null : Value;

export type PetDocument = { readonly [Field in keyof NewPet]: BsonOf<NewPet[Field]> } & {
  readonly _id: Long;
  /** The random token of the insert. A retry recognises the document of an earlier attempt by it. */
  readonly op?: UUID;
  /** The hashes of `Idempotency`, kept as long as the pet. */
  readonly idem?: { readonly k: string; readonly fp: string };
};

/** Takes ids without a pet, see {@link reserveIds}. Readers of pets ignore it. */
export type FenceDocument = {
  readonly _id: Double;
  /** The last reserved id. */
  readonly upTo: Long;
};

export type ApiKeyDocument = Omit<ApiKey, 'id'> & { readonly _id: string };

export type RateLimitDocument = {
  readonly key: string;
  /** The number of requests in the window. */
  readonly points: number;
  /** The end of the window. */
  readonly expire: Date;
};

/** What `migrate` has done, see {@link SCHEMA}. */
export type SchemaDocument = {
  readonly _id: 'petstore';
  /** Absent until the first migration has ended. */
  readonly version?: number;
  readonly step?: number;
  readonly begun?: number;
  /** The migration that may change something now, and until when, by the clock of the server. */
  readonly lease?: { readonly by: string; readonly until: Date };
};

export const RATE_LIMITS = 'rate_limits';

// Not `useBigInt64`: with it, the driver (7.8) ends the process when a primary steps down. Its monitor keeps the
// topology version of an error reply and throws on a bigint, in a timer (`makeTopologyVersion` in sdam/monitor.ts).
// https://github.com/mongodb/node-mongodb-native/pull/4109 fixed half of it.
const EXACT = { promoteLongs: false } as const;

// Collections and transactions have the concerns of the client, which a connection string cannot weaken: only what
// cannot be rolled back is read or acknowledged.

export function petsOf(db: Db): Collection<PetDocument> {
  return db.collection<PetDocument>('pets', EXACT);
}

export function versionsOf(db: Db): Collection<SchemaDocument> {
  return db.collection<SchemaDocument>('schema');
}

/** The same concern for a command that is not one of a collection, to which the driver adds nothing. */
export function durable({ writeConcern }: Db) {
  return { w: 'majority', j: true, wtimeout: writeConcern?.wtimeoutMS } as const;
}
