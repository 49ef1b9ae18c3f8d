import { type Document, type IndexDescriptionInfo, Long } from 'mongodb';
import { KEY_LABEL_MAX_LENGTH, SCOPES } from '../../../domain/api-key.ts';
import { RATE_LIMIT_MAX } from '../../../domain/rate-limit.ts';
import { MAX_PET_ID, PET_NAME_MAX_LENGTH, PET_NAME_MIN_LENGTH, PET_STATUSES } from '../../../domain/pet.ts';
import { type ApiKeyDocument, type PetDocument, RATE_LIMITS, type RateLimitDocument } from './collections.ts';

export type IndexPlan = Readonly<IndexDescriptionInfo> & {
  readonly name: string;
  /** How to repair documents that share a value. */
  readonly remedy?: string;
  /** Whether all answers are right without the index. */
  readonly isOptional?: boolean;
};

export type CollectionPlan = {
  readonly name: string;
  readonly documentName: string;
  readonly validator: Document;
  readonly indexes: readonly IndexPlan[];
};

export const STATUS_INDEX = { name: 'status_1__id_1', key: { status: 1, _id: 1 } } as const;

/** Allows at most one pet per idempotency key. */
export const IDEMPOTENCY_INDEX = {
  name: 'idem.k_1',
  key: { 'idem.k': 1 },
  unique: true,
  partialFilterExpression: { 'idem.k': { $exists: true } },
  remedy: 'keep the field "idem" only in the pet that the client knows',
} as const;

/** Harmless: the keys begin a new window. */
const FORGET_COUNTS = `run in mongosh: db.getCollection("${RATE_LIMITS}").deleteMany({})`;

const DATE = { bsonType: 'date' } as const;
const LONG = { bsonType: 'long' } as const;
const TEXT = { bsonType: 'string' } as const;
const positive = (maximum: number) => ({ bsonType: 'int', minimum: 1, maximum });
const object = (required: string[], properties: Document) => ({ bsonType: 'object', required, properties });

const FENCE_SCHEMA = { required: ['upTo'], properties: { _id: { bsonType: 'double' }, upTo: LONG } };

const PET_SCHEMA = {
  required: ['_id', 'name', 'categoryId', 'status'],
  properties: {
    _id: { ...LONG, minimum: 1, maximum: Long.fromBigInt(MAX_PET_ID) },
    name: { ...TEXT, minLength: PET_NAME_MIN_LENGTH, maxLength: PET_NAME_MAX_LENGTH },
    categoryId: LONG,
    status: { enum: [...PET_STATUSES] },
    op: { bsonType: 'binData' },
    idem: object(['k', 'fp'], { k: TEXT, fp: TEXT }),
  } satisfies Record<keyof PetDocument, Document>,
};

/**
 * The reader of a key checks further fields, such as `originId`. A date of another type would make a key that never
 * expires.
 */
const API_KEY_SCHEMA = object(['_id', 'label', 'digest', 'scopes', 'createdAt'], {
  _id: { ...TEXT, pattern: '^[0-9a-f]{16}$' },
  label: { ...TEXT, minLength: 1, maxLength: KEY_LABEL_MAX_LENGTH },
  digest: { ...TEXT, pattern: '^[0-9a-f]{64}$' },
  scopes: { bsonType: 'array', minItems: 1, uniqueItems: true, items: { enum: [...SCOPES] } },
  createdAt: DATE,
  expiresAt: DATE,
  rateLimit: object(['requests', 'seconds'], {
    requests: positive(RATE_LIMIT_MAX.requests),
    seconds: positive(RATE_LIMIT_MAX.seconds),
  }),
  revokedAt: DATE,
  lastUsedAt: DATE,
} satisfies Record<Exclude<keyof ApiKeyDocument, 'originId'>, Document>);

/** Without a date, a window would never end, and the TTL index would keep the count. */
const RATE_LIMIT_SCHEMA = object(['key', 'points', 'expire'], {
  key: TEXT,
  points: { bsonType: ['int', 'long'] },
  expire: DATE,
} satisfies Record<keyof RateLimitDocument, Document>);

/**
 * `migrate` stores both numbers, which never get smaller: see "Change the schema of a storage" in
 * docs/explanation/architecture.md.
 */
export const SCHEMA = {
  /** Only builds that accept this version may write. */
  version: 4,
  /** A build also accepts the next version if it can work with that version. */
  accepts: [4] as readonly number[],
  /** How many changes the table has had since the first release. Each adds one, also one that raises the version. */
  step: 0,
};

/** As after the last step. Validators accept further fields. */
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
