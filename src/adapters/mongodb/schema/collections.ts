import type { Collection, Db, Double, Long, UUID } from 'mongodb';
import type { ApiKey } from '../../../domain/api-key.ts';
import type { NewPet } from '../../../domain/pet.ts';

type BsonOf<Value> = Value extends bigint ? Long : Value extends undefined ? null : Value;

export type PetDocument = { readonly [Field in keyof NewPet]: BsonOf<NewPet[Field]> } & {
  readonly _id: Long;
  /** The random token of the insert: see docs/explanation/ids-on-mongodb.md. */
  readonly op?: UUID;
  /** The hashes of `Idempotency`, which the pet keeps forever. */
  readonly idem?: { readonly k: string; readonly fp: string };
};

/** Reserves the ids up to `upTo`. Readers of pets ignore fences. */
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

export type SchemaDocument = {
  readonly _id: 'petstore';
  /** Absent until the first migration has ended. */
  readonly version?: number;
  readonly step?: number;
  /** The last step that was begun. */
  readonly begun?: number;
  /** Only the migration `by` may change the schema, until the time `until` on the server's clock. */
  readonly lease?: { readonly by: string; readonly until: Date };
};

export const RATE_LIMITS = 'rate_limits';

// Keeps int64 values exact. `useBigInt64` can end the process: see
// docs/explanation/a-write-on-mongodb.md#1-before-the-first-request.
const EXACT_INTEGERS = { promoteLongs: false } as const;

// Collections and transactions have the read and write concerns of the client. A connection string cannot weaken them.

export function petsOf(db: Db): Collection<PetDocument> {
  return db.collection<PetDocument>('pets', EXACT_INTEGERS);
}

export function versionsOf(db: Db): Collection<SchemaDocument> {
  return db.collection<SchemaDocument>('schema');
}

/** For `db.command`, to which the driver adds no write concern. */
export function durableConcern({ writeConcern }: Db) {
  return { w: 'majority', j: true, wtimeout: writeConcern?.wtimeoutMS } as const;
}
