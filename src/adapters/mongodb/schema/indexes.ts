import { isDeepStrictEqual } from 'node:util';
import type { CreateIndexesOptions, Db, Document } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { isServerError } from '../connection/server-error-codes.ts';
import {
  type CollectionPlan,
  type IndexPlan,
  RATE_LIMIT_TTL_INDEX,
  type SchemaProblem,
} from './collection-plans.ts';
import { petsOf } from './collections.ts';

/** How many groups of pets that share an idempotency key are named. */
const MAX_GROUPS = 10;

/** An index as the server describes it. */
type IndexInfo = CreateIndexesOptions & {
  readonly name: string;
  readonly key: Document;
  readonly prepareUnique?: boolean;
  /** Present while the index is being built. */
  readonly buildUUID?: unknown;
};

/** @returns all indexes of a collection, those being built included; none if the collection does not exist */
export async function indexesOf(db: Db, collection: string): Promise<readonly IndexInfo[]> {
  try {
    // By default the server lists an index that is being built like any other, though it rejects no duplicate yet.
    const { cursor } = await db.command({ listIndexes: collection, includeBuildUUIDs: true });
    const { firstBatch } = cursor as { readonly firstBatch: readonly (IndexInfo & { spec?: IndexInfo })[] };
    // While an index is being built, its description is nested in `spec`.
    return firstBatch.map(({ spec, ...info }) => ({ ...spec, ...info }));
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

/** The order of the fields counts. */
function hasDefinition(info: Document, { key, options }: { key: Document; options: Document }): boolean {
  const isSameKey = JSON.stringify(info['key']) === JSON.stringify(key);
  return (
    isSameKey && EFFECTIVE.every((name) => isDeepStrictEqual(info[name] ?? false, options[name] ?? false))
  );
}

/**
 * Whether an index is ready and has the planned definition. A unique index may have another name. An index that queries
 * hint at may not.
 */
export function isReady(plan: IndexPlan, existing: readonly IndexInfo[]): boolean {
  return existing.some((info) => {
    const isNamed = info.name === plan.name || plan.options.unique === true;
    return isNamed && info.buildUUID === undefined && !info.hidden && hasDefinition(info, plan);
  });
}

/** What is wrong with the indexes of a collection: those that are planned, and those of others. */
export function indexProblems(
  { name: collection, indexes }: CollectionPlan,
  existing: readonly IndexInfo[],
): readonly SchemaProblem[] {
  const on = (name: string, method = 'dropIndex') => `db.getCollection("${collection}").${method}("${name}")`;
  const missing = indexes.filter((plan) => !isReady(plan, existing));
  const problems = missing.map((plan): SchemaProblem => {
    const { name } = plan;
    // The server would refuse to make the index beside it.
    const other = existing.find((info) => info.name === name || hasDefinition(info, plan));
    const about = { collection, isHarmless: plan === RATE_LIMIT_TTL_INDEX };
    if (other === undefined || other.buildUUID !== undefined) {
      const problem = `${other === undefined ? 'lacks' : 'is still building'} the index "${name}"`;
      return { ...about, problem, mend: (db) => createIndex(db, collection, plan) };
    }
    if (other.name !== name) {
      const problem = `has the index "${other.name}" in the place of "${name}"`;
      return { ...about, problem, mend: on(other.name) };
    }
    return other.hidden && hasDefinition(other, plan)
      ? { ...about, problem: `hides the index "${name}"`, mend: on(name, 'unhideIndex') }
      : { ...about, problem: `has an index "${name}" with another definition`, mend: on(name) };
  });
  const foreign = existing.flatMap((info): readonly SchemaProblem[] => {
    const { name, key, unique, prepareUnique, expireAfterSeconds } = info;
    const isOurs = indexes.some((plan) => name === plan.name || hasDefinition(info, plan));
    const deletes = expireAfterSeconds !== undefined;
    if (isOurs || JSON.stringify(key) === '{"_id":1}' || !(deletes || unique || prepareUnique)) return [];
    const does = deletes ? 'deletes' : 'refuses';
    const problem = `has the index "${name}" of somebody else, which ${does} documents`;
    return [{ collection, problem, mend: on(name), refusesSome: !deletes }];
  });
  return [...problems, ...foreign];
}

async function createIndex(db: Db, collection: string, plan: IndexPlan): Promise<void> {
  const { key, name, options, remedy } = plan;
  const { setName } = await db.command({ hello: 1 });
  // With the default quorum, one member that is down blocks the build. A standalone server rejects the option.
  const quorum = setName === undefined ? {} : ({ commitQuorum: 'majority' } as const);
  try {
    await db.collection(collection).createIndex(key, { name, ...options }, quorum);
  } catch (error) {
    if (!isServerError(error, 'DuplicateKey')) throw error;
    throw new StorageSetupError(
      `documents of the collection "${collection}" of the database "${db.databaseName}" share a value of ` +
        `"${Object.keys(key)[0]}"; ${remedy}, then migrate again`,
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
