import { isDeepStrictEqual } from 'node:util';
import type { Db, IndexDescriptionInfo } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { isServerError, unless } from '../connection/server-error-codes.ts';
import type { IndexPlan } from './collection-plans.ts';

type Listing = { readonly cursor: { readonly firstBatch: readonly (IndexInfo & { spec?: IndexInfo })[] } };

/** An index as the server describes it. `buildUUID` is present while the index is being built. */
export type IndexInfo = IndexDescriptionInfo & { readonly name: string };

/** @returns all indexes of a collection, those being built included; none if the collection does not exist */
export async function indexesOf(db: Db, collection: string): Promise<readonly IndexInfo[]> {
  // By default the server lists an index that is being built like any other, though it rejects no duplicate yet.
  const listing = db.command({ listIndexes: collection, includeBuildUUIDs: true });
  const reply = (await unless('NamespaceNotFound', listing)) as Listing | undefined;
  // While an index is being built, its description is nested in `spec`.
  return reply?.cursor.firstBatch.map(({ spec, ...info }) => ({ ...spec, ...info })) ?? [];
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

/** Whether both are the same but for their names. The order of the fields counts. */
export function isSameIndex(info: IndexInfo, plan: IndexPlan): boolean {
  const isSameKey = JSON.stringify(info.key) === JSON.stringify(plan.key);
  return isSameKey && EFFECTIVE.every((name) => isDeepStrictEqual(info[name] ?? false, plan[name] ?? false));
}

/**
 * Whether an index is ready and has the planned definition. A unique index may have another name. An index that queries
 * hint at may not.
 */
export function isReady(plan: IndexPlan, existing: readonly IndexInfo[]): boolean {
  return existing.some((info) => {
    const isNamed = info.name === plan.name || plan.unique === true;
    return isNamed && !('buildUUID' in info) && !info.hidden && isSameIndex(info, plan);
  });
}

/** @throws {StorageSetupError} if documents share a value of a unique index */
export async function createIndex(db: Db, collection: string, plan: IndexPlan): Promise<void> {
  const { remedy, isOptional: _, ...index } = plan;
  const { setName } = await db.command({ hello: 1 });
  // With the default quorum, one member that is down blocks the build. A standalone server rejects the option.
  const quorum = setName === undefined ? {} : ({ commitQuorum: 'majority' } as const);
  try {
    await db.collection(collection).createIndexes([index], quorum);
  } catch (error) {
    if (!isServerError(error, 'DuplicateKey')) throw error;
    throw new StorageSetupError(
      `documents of the collection "${collection}" of the database "${db.databaseName}" share a value of ` +
        `"${Object.keys(index.key)[0]}"; ${remedy}, then migrate again`,
    );
  }
}
