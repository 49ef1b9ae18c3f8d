import { type Document, type IndexDescriptionInfo, Long } from 'mongodb';
import { KEY_LABEL_MAX_LENGTH, SCOPES } from '../../../domain/api-key.ts';
import { RATE_LIMIT_MAX } from '../../../domain/rate-limit.ts';
import { MAX_PET_ID, PET_NAME_MAX_LENGTH, PET_NAME_MIN_LENGTH, PET_STATUSES } from '../../../domain/pet.ts';
import { type ApiKeyDocument, type PetDocument, RATE_LIMITS, type RateLimitDocument } from './collections.ts';

export type IndexPlan = Readonly<IndexDescriptionInfo> & {
  readonly name: string;
  /** How to repair documents that share a value. */
  readonly remedy?: string;
  /** Whether every answer is right without the index. */
  readonly isOptional?: boolean;
};

export type CollectionPlan = {
  readonly name: string;
  readonly documentName: string;
  readonly validator: Document;
  readonly indexes: readonly IndexPlan[];
};

export const STATUS_INDEX = { name: 'status_1__id_1', key: { status: 1, _id: 1 } } as const;

export const IDEMPOTENCY_INDEX = {
  name: 'idem.k_1',
  key: { 'idem.k': 1 },
  unique: true,
  partialFilterExpression: { 'idem.k': { $exists: true } },
  remedy: 'keep the field "idem" only in the pet that the client knows',
} as const;

/** Harmless, because each API key begins a new window. */
const FORGET_COUNTS = `run in mongosh: db.getCollection("${RATE_LIMITS}").deleteMany({})`;

const DATE = { bsonType: 'date' } as const;
const LONG = { bsonType: 'long' } as const;
const TEXT = { bsonType: 'string' } as const;
const positiveInteger = (maximum: number) => ({ bsonType: 'int', minimum: 1, maximum });
const objectOf = (required: string[], properties: Document) => ({ bsonType: 'object', required, properties });

const FENCE_SCHEMA = { required: ['upTo'], properties: { _id: { bsonType: 'double' }, upTo: LONG } };

const PET_SCHEMA = {
  required: ['_id', 'name', 'categoryId', 'status'],
  properties: {
    _id: { ...LONG, minimum: 1, maximum: Long.fromBigInt(MAX_PET_ID) },
    name: { ...TEXT, minLength: PET_NAME_MIN_LENGTH, maxLength: PET_NAME_MAX_LENGTH },
    categoryId: LONG,
    status: { enum: [...PET_STATUSES] },
    op: { bsonType: 'binData' },
    idem: objectOf(['k', 'fp'], { k: TEXT, fp: TEXT }),
  } satisfies Record<keyof PetDocument, Document>,
};

/**
 * `parseStoredApiKey` checks additional fields, such as `originId`. A key with an expiry of another type would never
 * expire.
 */
const API_KEY_SCHEMA = objectOf(['_id', 'label', 'digest', 'scopes', 'createdAt'], {
  _id: { ...TEXT, pattern: '^[0-9a-f]{16}$' },
  label: { ...TEXT, minLength: 1, maxLength: KEY_LABEL_MAX_LENGTH },
  digest: { ...TEXT, pattern: '^[0-9a-f]{64}$' },
  scopes: { bsonType: 'array', minItems: 1, uniqueItems: true, items: { enum: [...SCOPES] } },
  createdAt: DATE,
  expiresAt: DATE,
  rateLimit: objectOf(['requests', 'seconds'], {
    requests: positiveInteger(RATE_LIMIT_MAX.requests),
    seconds: positiveInteger(RATE_LIMIT_MAX.seconds),
  }),
  revokedAt: DATE,
  lastUsedAt: DATE,
} satisfies Record<Exclude<keyof ApiKeyDocument, 'originId'>, Document>);

/** `expire` must be a date. Otherwise the window would never end, and the TTL index would keep the count. */
const RATE_LIMIT_SCHEMA = objectOf(['key', 'points', 'expire'], {
  key: TEXT,
  points: { bsonType: ['int', 'long'] },
  expire: DATE,
} satisfies Record<keyof RateLimitDocument, Document>);

/**
 * `migrate` stores `version` and `step`, which never get smaller: see "Change the schema of a storage" in
 * docs/explanation/architecture.md.
 */
export const SCHEMA = {
  /** Only builds that accept this version may write. */
  version: 4,
  /** The versions with which this build can work: its own, and possibly the next one. */
  accepts: [4] as readonly number[],
  /** The number of changes of `COLLECTIONS` since the first release, even those that raised `version`. */
  step: 0,
};

/** The collections after the last step. Their validators accept additional fields. */
export const COLLECTIONS: readonly CollectionPlan[] = [
  {
    name: 'pets',
    documentName: 'pet',
    validator: { $jsonSchema: { bsonType: 'object', anyOf: [PET_SCHEMA, FENCE_SCHEMA] } },
    indexes: [STATUS_INDEX, IDEMPOTENCY_INDEX],
  },
  { name: 'api_keys', documentName: 'API key', validator: { $jsonSchema: API_KEY_SCHEMA }, indexes: [] },
  {
    name: RATE_LIMITS,
    documentName: 'rate limit count',
    validator: { $jsonSchema: RATE_LIMIT_SCHEMA },
    indexes: [
      { name: 'key_1', key: { key: 1 }, unique: true, remedy: FORGET_COUNTS },
      { name: 'expire_-1', key: { expire: -1 }, expireAfterSeconds: 0, isOptional: true },
    ],
  },
];
