import { isDeepStrictEqual } from 'node:util';
import type { Db, Document } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { isServerError } from '../connection/server-error-codes.ts';
import {
  type CollectionPlan,
  COLLECTIONS,
  type IndexPlan,
  RATE_LIMIT_TTL_INDEX,
} from './collection-plans.ts';
import { petsOf } from './collections.ts';

/** How many groups of pets that share an idempotency key are named. */
const MAX_GROUPS = 10;

/** An index as the server describes it. */
type IndexInfo = {
  readonly name: string;
  readonly key: Document;
  readonly unique?: boolean;
  readonly hidden?: boolean;
  /** Present while the index is being built. */
  readonly buildUUID?: unknown;
};

type ListIndexesReply = {
  readonly cursor: { readonly firstBatch: readonly (IndexInfo & { readonly spec?: IndexInfo })[] };
};

/** @returns all indexes of a collection, those being built included; none if the collection does not exist */
async function indexesOf(db: Db, collection: string): Promise<readonly IndexInfo[]> {
  try {
    // By default the server lists an index that is being built like any other, though it rejects no duplicate yet.
    const reply = await db.command({ listIndexes: collection, includeBuildUUIDs: true });
    const { cursor } = reply as ListIndexesReply;
    // While an index is being built, its description is nested in `spec`.
    return cursor.firstBatch.map(({ spec, ...info }) => ({ ...spec, ...info }));
  } catch (error) {
    if (isServerError(error, 'NamespaceNotFound')) return [];
    throw error;
  }
}

/** What decides which documents an index has and which it refuses. Any other option has no such effect. */
const EFFECTIVE = [
  'unique',
  'prepareUnique',
  'sparse',
  'partialFilterExpression',
  'collation',
  'expireAfterSeconds',
] as const;

/**
 * Whether an index is ready and has the planned definition. A unique index may have another name. An index that queries
 * hint at may not.
 */
function isPlanned(info: IndexInfo, plan: IndexPlan): boolean {
  const isNamed = info.name === plan.name || plan.options.unique === true;
  return isNamed && info.buildUUID === undefined && !info.hidden && hasDefinition(info, plan);
}

function hasDefinition(info: IndexInfo, { key, options }: IndexPlan): boolean {
  // The order of the fields counts.
  const isSameKey = JSON.stringify(info.key) === JSON.stringify(key);
  return isSameKey && isDeepStrictEqual(effectsOf(info), effectsOf(options));
}

function effectsOf(options: Document): readonly unknown[] {
  return EFFECTIVE.map((name) => (options[name] === false ? undefined : options[name]));
}

/** @returns the indexes that are not ready or not as planned, with a phrase about the collection that says how */
export async function unplanned(db: Db, collection: string, indexes: readonly IndexPlan[]) {
  if (indexes.length === 0) return [];
  const existing = await indexesOf(db, collection);
  return indexes
    .filter((plan) => !existing.some((info) => isPlanned(info, plan)))
    .map((plan) => ({ plan, state: stateOf(plan, existing) }));
}

/** @returns what the operator must do, in one line; `undefined` if every required index is ready */
export async function indexProblem(db: Db, program: string): Promise<string | undefined> {
  const problems = COLLECTIONS.map(async ({ name, indexes }) => {
    const required = indexes.filter((plan) => plan !== RATE_LIMIT_TTL_INDEX);
    const found = await unplanned(db, name, required);
    return found.map(({ state }) => `the collection "${name}" ${state}`);
  });
  const all = (await Promise.all(problems)).flat();
  return all.length === 0
    ? undefined
    : `in the database "${db.databaseName}" ${all.join(', ')}; run: ${program} migrate`;
}

function stateOf({ name }: IndexPlan, existing: readonly IndexInfo[]): string {
  const info = existing.find((other) => other.name === name);
  if (info === undefined) return `lacks the index "${name}"`;
  return info.buildUUID === undefined
    ? `has an index "${name}" with another definition`
    : `is still building the index "${name}"`;
}

/**
 * Creates the missing indexes of a collection. Waits while another migration builds them. Changes no other index.
 *
 * @throws {StorageSetupError} if another index, or what is stored, is in the way
 */
export async function createIndexes(db: Db, { name: collection, indexes }: CollectionPlan): Promise<void> {
  const { setName } = await db.command({ hello: 1 });
  // With the default quorum, one member that is down blocks the build. A standalone server rejects the option.
  const quorum: Quorum = setName === undefined ? {} : { commitQuorum: 'majority' };
  const existing = await indexesOf(db, collection);
  for (const plan of indexes.filter((planned) => !existing.some((info) => isPlanned(info, planned)))) {
    refuseOther(db, collection, plan, existing);
    await create(db, collection, plan, quorum);
  }
}

type Quorum = { readonly commitQuorum?: 'majority' };

/** Refuses an index that has the planned name, or the planned definition under another name. */
function refuseOther(db: Db, collection: string, plan: IndexPlan, existing: readonly IndexInfo[]): void {
  const other = existing.find((info) => info.name === plan.name || hasDefinition(info, plan));
  if (other === undefined || other.buildUUID !== undefined) return;
  const method =
    other.hidden && other.name === plan.name && hasDefinition(other, plan) ? 'unhideIndex' : 'dropIndex';
  throw new StorageSetupError(
    `the index "${other.name}" of the collection "${collection}" of the database "${db.databaseName}" is in the way ` +
      `of the index "${plan.name}"; stop the services, run in mongosh: ` +
      `db.getCollection("${collection}").${method}("${other.name}"), then migrate again`,
  );
}

async function create(db: Db, collection: string, plan: IndexPlan, quorum: Quorum): Promise<void> {
  const { key, name, options, remedy } = plan;
  try {
    await db.collection(collection).createIndex(key, { name, ...options }, quorum);
  } catch (error) {
    if (!isServerError(error, 'DuplicateKey')) throw error;
    throw new StorageSetupError(
      `documents of the collection "${collection}" of the database "${db.databaseName}" share a value of ` +
        `"${Object.keys(key)[0]}"; ${remedy}, then migrate again`,
      { cause: error },
    );
  }
}

/** @returns the ids of the pets in each group that shares an idempotency key; at most {@link MAX_GROUPS} */
export async function sharedIdempotencyKeys(db: Db): Promise<readonly (readonly unknown[])[]> {
  const groups = await petsOf(db)
    .aggregate<{ readonly ids: readonly unknown[] }>(
      [
        { $match: { 'idem.k': { $exists: true } } },
        { $sort: { _id: 1 } },
        { $group: { _id: '$idem.k', ids: { $push: '$_id' } } },
        { $match: { 'ids.1': { $exists: true } } },
        { $sort: { 'ids.0': 1 } },
        { $limit: MAX_GROUPS },
      ],
      { allowDiskUse: true },
    )
    .toArray();
  return groups.map(({ ids }) => ids);
}
