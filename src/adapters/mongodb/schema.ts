import { type Collection, type CreateIndexesOptions, type Db, type Document, Long, type UUID } from 'mongodb';
import {
  KEY_LABEL_MAX_LENGTH,
  RATE_LIMIT_MAX_REQUESTS,
  RATE_LIMIT_MAX_SECONDS,
  type RateLimit,
  type Scope,
  SCOPES,
} from '../../domain/api-key.ts';
import { INT64_MAX, INT64_MIN, isInt64 } from '../../domain/int64.ts';
import { PET_NAME_MAX_LENGTH, PET_NAME_MIN_LENGTH } from '../../domain/pet-name.ts';
import { MAX_PET_ID, PET_STATUSES, type PetStatus } from '../../domain/pet.ts';
import { DURABLE, SETTLED, WRITE_TIMEOUT_MS } from './concerns.ts';

/** What this build reads and writes. A change of anything below that an older build cannot live with adds one. */
export const SCHEMA_VERSION = 3;

export type PetDocument = {
  readonly _id: Long;
  readonly name: string;
  readonly categoryId: Long;
  readonly status: PetStatus;
  /** Random, of the insert that made this document: tells our own earlier attempt from a stranger's pet. */
  readonly op?: UUID;
  /** The hashes of `Idempotency`, for as long as the pet exists. */
  readonly idem?: { readonly k: string; readonly fp: string };
};

/** `last` is the last id that has been given. */
export type CounterDocument = { readonly _id: 'pets'; readonly last: Long };

/** The fields of an `ApiKey`. */
export type ApiKeyDocument = {
  readonly _id: string;
  readonly label: string;
  readonly digest: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly expiresAt?: Date;
  readonly rateLimit?: RateLimit;
  readonly revokedAt?: Date;
  readonly lastUsedAt?: Date;
};

export const RATE_LIMITS = 'rate_limits';

/** How many requests a key has sent in a window, which ends at `expire`. */
export type RateLimitDocument = {
  readonly key: string;
  readonly points: number;
  readonly expire: Date;
};

type VersionDocument = { readonly _id: 'petstore'; readonly version: number };

// Not `useBigInt64`: with it the driver (7.8) ends the process when a primary steps down. It keeps the topology
// version of an error reply for its monitor, which takes a Long or a number and throws on a bigint, in a timer
// (`makeTopologyVersion` in sdam/monitor.ts; https://github.com/mongodb/node-mongodb-native/pull/4109 mended half).
const EXACT = { promoteLongs: false } as const;

export function petsOf(db: Db): Collection<PetDocument> {
  return db.collection<PetDocument>('pets', { ...EXACT, ...guarantees(db) });
}

export function countersOf(db: Db): Collection<CounterDocument> {
  return db.collection<CounterDocument>('counters', { ...EXACT, ...guarantees(db) });
}

export function apiKeysOf(db: Db): Collection<ApiKeyDocument> {
  return db.collection<ApiKeyDocument>('api_keys', guarantees(db));
}

export function versionsOf(db: Db): Collection<VersionDocument> {
  return db.collection<VersionDocument>('schema', guarantees(db));
}

/** Whatever client the database is of. How long a write waits is the one thing that the client may say. */
function guarantees({ writeConcern: { wtimeoutMS = WRITE_TIMEOUT_MS } = {} }: Db) {
  return { ...SETTLED, writeConcern: { ...DURABLE, wtimeoutMS } };
}

/** Serves the list with a status filter without a sort. */
export const STATUS_INDEX = {
  name: 'status_1__id_1',
  key: { status: 1, _id: 1 },
  options: {},
  isNeeded: true,
} as const;

/** At most one pet for an idempotency key. */
const IDEMPOTENCY_INDEX = {
  name: 'idem.k_1',
  key: { 'idem.k': 1 },
  options: { unique: true, partialFilterExpression: { 'idem.k': { $exists: true } } },
  isNeeded: true,
} as const;

/** One count for a key. The other index removes those whose window is over. */
const RATE_LIMIT_KEY_INDEX = {
  name: 'key_1',
  key: { key: 1 },
  options: { unique: true },
  isNeeded: true,
} as const;
const RATE_LIMIT_TTL_INDEX = {
  name: 'expire_-1',
  key: { expire: -1 },
  options: { expireAfterSeconds: 0 },
  isNeeded: false,
} as const;

/** Open to further fields. The range of a long needs no limits of its own. */
const PET_VALIDATOR = {
  $jsonSchema: {
    bsonType: 'object',
    required: ['_id', 'name', 'categoryId', 'status'],
    properties: {
      _id: { bsonType: 'long', minimum: 1, maximum: toLong(MAX_PET_ID) },
      name: { bsonType: 'string', minLength: PET_NAME_MIN_LENGTH, maxLength: PET_NAME_MAX_LENGTH },
      categoryId: { bsonType: 'long' },
      status: { enum: [...PET_STATUSES] },
      op: { bsonType: 'binData' },
      idem: {
        bsonType: 'object',
        required: ['k', 'fp'],
        properties: { k: { bsonType: 'string' }, fp: { bsonType: 'string' } },
      },
    },
  },
};

/** Open to further fields. A date that is none would be read as a key that never ends. */
const API_KEY_VALIDATOR = {
  $jsonSchema: {
    bsonType: 'object',
    required: ['_id', 'label', 'digest', 'scopes', 'createdAt'],
    properties: {
      _id: { bsonType: 'string', pattern: '^[0-9a-f]{16}$' },
      label: { bsonType: 'string', minLength: 1, maxLength: KEY_LABEL_MAX_LENGTH },
      digest: { bsonType: 'string', pattern: '^[0-9a-f]{64}$' },
      scopes: { bsonType: 'array', minItems: 1, uniqueItems: true, items: { enum: [...SCOPES] } },
      createdAt: { bsonType: 'date' },
      expiresAt: { bsonType: 'date' },
      rateLimit: {
        bsonType: 'object',
        required: ['requests', 'seconds'],
        properties: {
          requests: { bsonType: 'int', minimum: 1, maximum: RATE_LIMIT_MAX_REQUESTS },
          seconds: { bsonType: 'int', minimum: 1, maximum: RATE_LIMIT_MAX_SECONDS },
        },
      },
      revokedAt: { bsonType: 'date' },
      lastUsedAt: { bsonType: 'date' },
    },
  },
};

/** A count without a date would never be removed, and its window never end. */
const RATE_LIMIT_VALIDATOR = {
  $jsonSchema: {
    bsonType: 'object',
    required: ['key', 'points', 'expire'],
    properties: {
      key: { bsonType: 'string' },
      points: { bsonType: ['int', 'long'] },
      expire: { bsonType: 'date' },
    },
  },
};

export type IndexPlan = {
  readonly name: string;
  readonly key: Readonly<Record<string, 1 | -1>>;
  readonly options: CreateIndexesOptions;
  /** Without it answers are wrong or fail. */
  readonly isNeeded: boolean;
};

export type CollectionPlan = {
  readonly name: string;
  /** What one of its documents is, for people. */
  readonly holds: string;
  /** The schema version that it came with. */
  readonly since: number;
  readonly validator: Document;
  readonly indexes: readonly IndexPlan[];
};

/** The collections that want more than to be written to. */
export const COLLECTIONS: readonly CollectionPlan[] = [
  {
    name: 'pets',
    holds: 'pet',
    since: 1,
    validator: PET_VALIDATOR,
    indexes: [STATUS_INDEX, IDEMPOTENCY_INDEX],
  },
  { name: 'api_keys', holds: 'API key', since: 3, validator: API_KEY_VALIDATOR, indexes: [] },
  {
    name: RATE_LIMITS,
    holds: 'count of requests',
    since: 3,
    validator: RATE_LIMIT_VALIDATOR,
    indexes: [RATE_LIMIT_KEY_INDEX, RATE_LIMIT_TTL_INDEX],
  },
];

/** @returns `undefined` for a database that was never migrated */
export async function readVersion(db: Db): Promise<number | undefined> {
  const found = await versionsOf(db).findOne({ _id: 'petstore' });
  return found?.version;
}

export const MIGRATE_HINT = 'run: npm run petstore -- migrate';

/** What to do about a version, in one line, or `undefined` when it is the one that this build needs. */
export function versionProblem(version: number | undefined, database: string): string | undefined {
  if (version === SCHEMA_VERSION) return undefined;
  if (version === undefined) return `the database "${database}" has no petstore schema; ${MIGRATE_HINT}`;
  const is = `the database "${database}" has schema version ${version}, this build needs ${SCHEMA_VERSION}`;
  return version < SCHEMA_VERSION ? `${is}; ${MIGRATE_HINT}` : `${is}; run a newer build of petstore`;
}

/** BSON wraps an integer beyond int64 silently; whoever passes one has a bug. */
export function toLong(value: bigint): Long {
  if (!isInt64(value)) throw new RangeError(`${value} is not between ${INT64_MIN} and ${INT64_MAX}`);
  return Long.fromBigInt(value);
}

/** Long's own conversion goes through a string and takes five times as long. */
export function toBigInt({ high, low }: Long): bigint {
  return (BigInt(high) << 32n) | BigInt(low >>> 0);
}
