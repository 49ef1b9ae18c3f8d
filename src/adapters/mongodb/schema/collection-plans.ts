import type { CreateIndexesOptions, Db, Document } from 'mongodb';
import { KEY_LABEL_MAX_LENGTH, SCOPES } from '../../../domain/api-key.ts';
import { RATE_LIMIT_MAX } from '../../../domain/rate-limit.ts';
import { MAX_PET_ID, PET_NAME_MAX_LENGTH, PET_NAME_MIN_LENGTH, PET_STATUSES } from '../../../domain/pet.ts';
import { type ApiKeyDocument, type PetDocument, RATE_LIMITS, toLong } from './collections.ts';

export type IndexPlan = {
  readonly name: string;
  readonly key: Readonly<Record<string, 1 | -1>>;
  readonly options: CreateIndexesOptions;
  /** What to do with documents that share a value of a unique index. */
  readonly remedy?: string;
};

export type CollectionPlan = {
  readonly name: string;
  /** What a document is called in messages. */
  readonly documentName: string;
  readonly validator: Document;
  readonly indexes: readonly IndexPlan[];
};

/** What is missing, or was made by somebody else and loses, refuses or reorders documents. */
export type SchemaProblem = {
  readonly collection: string;
  /** Completes "the collection …" in one line. */
  readonly problem: string;
  /** What `migrate` does about it; or the command for mongosh, where `migrate` would have to change what is there. */
  readonly mend: ((db: Db) => Promise<unknown>) | string;
  /** Whether a service works with it. */
  readonly isHarmless?: boolean;
  /** Whether it loses nothing, but refuses some documents. No start, but a service that runs goes on with the others. */
  readonly refusesSome?: boolean;
};

/** Serves a list with a status filter without a sort. */
export const STATUS_INDEX = {
  name: 'status_1__id_1',
  key: { status: 1, _id: 1 },
  options: {},
} as const;

/** Allows at most one pet per idempotency key. */
export const IDEMPOTENCY_INDEX = {
  name: 'idem.k_1',
  key: { 'idem.k': 1 },
  options: { unique: true, partialFilterExpression: { 'idem.k': { $exists: true } } },
  remedy: 'keep the field "idem" only in the pet that the client was told of',
} as const;

/** Allows one count per key. */
const RATE_LIMIT_KEY_INDEX = {
  name: 'key_1',
  key: { key: 1 },
  options: { unique: true },
  // Harmless: the keys begin a new window.
  remedy: `run in mongosh: db.getCollection("${RATE_LIMITS}").deleteMany({})`,
} as const;

/** Removes a count after its window. The only index without which no answer is wrong or fails. */
export const RATE_LIMIT_TTL_INDEX = {
  name: 'expire_-1',
  key: { expire: -1 },
  options: { expireAfterSeconds: 0 },
} as const;

const FENCE_SCHEMA = {
  required: ['upTo'],
  properties: { _id: { bsonType: 'double' }, upTo: { bsonType: 'long' } },
};

/** A long needs no limits: its range is that of an int64. */
const PET_SCHEMA = {
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
  } satisfies Record<keyof PetDocument, Document>,
};

/** Accepts further fields. */
const PET_VALIDATOR = { $jsonSchema: { bsonType: 'object', anyOf: [PET_SCHEMA, FENCE_SCHEMA] } };

/**
 * Accepts further fields, `originId` among them: what reads a key checks it. A date of another type would make a key
 * that never expires.
 */
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
          requests: { bsonType: 'int', minimum: 1, maximum: RATE_LIMIT_MAX.requests },
          seconds: { bsonType: 'int', minimum: 1, maximum: RATE_LIMIT_MAX.seconds },
        },
      },
      revokedAt: { bsonType: 'date' },
      lastUsedAt: { bsonType: 'date' },
    } satisfies Record<Exclude<keyof ApiKeyDocument, 'originId'>, Document>,
  },
};

/** Without a date, the window of a count would never end and the TTL index would never remove it. */
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

/** The collections that need a validator or indexes. */
export const COLLECTIONS: readonly CollectionPlan[] = [
  {
    name: 'pets',
    documentName: 'pet',
    validator: PET_VALIDATOR,
    indexes: [STATUS_INDEX, IDEMPOTENCY_INDEX],
  },
  { name: 'api_keys', documentName: 'API key', validator: API_KEY_VALIDATOR, indexes: [] },
  {
    name: RATE_LIMITS,
    documentName: 'rate limit count',
    validator: RATE_LIMIT_VALIDATOR,
    indexes: [RATE_LIMIT_KEY_INDEX, RATE_LIMIT_TTL_INDEX],
  },
];
