import type { Collection, Db, Double, Long, UUID } from 'mongodb';
import type { ApiKey } from '../../../domain/api-key.ts';
import type { NewPet } from '../../../domain/pet.ts';

type BsonOf<Value> = Value extends bigint ? Long : Value extends undefined ? null : Value;

export type PetDocument = { readonly [Field in keyof NewPet]: BsonOf<NewPet[Field]> } & {
  readonly _id: Long;
  /** The random token of the insert: see docs/explanation/ids-on-mongodb.md. */
  readonly op?: UUID;
  /** The hashes of `Idempotency`, kept as long as the pet. */
  readonly idem?: { readonly k: string; readonly fp: string };
};

/** See {@link reserveIds}. Readers of pets ignore fences. */
export type FenceDocument = {
  readonly _id: Double;
  readonly upTo: Long;
};

export type ApiKeyDocument = Omit<ApiKey, 'id'> & { readonly _id: string };

export type RateLimitDocument = {
  readonly key: string;
  readonly points: number;
  readonly expire: Date;
};

/** Written by `migrate`: see {@link SCHEMA}. */
export type SchemaDocument = {
  readonly _id: 'petstore';
  /** Absent until the first migration has ended. */
  readonly version?: number;
  readonly step?: number;
  readonly begun?: number;
  /** The migration that may change something, and until when on the clock of the server. */
  readonly lease?: { readonly by: string; readonly until: Date };
};

export const RATE_LIMITS = 'rate_limits';

// Not `useBigInt64`, which ends the process: see docs/explanation/a-write-on-mongodb.md#1-before-the-first-request.
const EXACT = { promoteLongs: false } as const;

// Collections and transactions have the concerns of the client, which a connection string cannot weaken.

export function petsOf(db: Db): Collection<PetDocument> {
  return db.collection<PetDocument>('pets', EXACT);
}

export function versionsOf(db: Db): Collection<SchemaDocument> {
  return db.collection<SchemaDocument>('schema');
}

/** The driver adds no concern to a command outside a collection. */
export function durable({ writeConcern }: Db) {
  return { w: 'majority', j: true, wtimeout: writeConcern?.wtimeoutMS } as const;
}
