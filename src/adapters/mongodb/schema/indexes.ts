import { isDeepStrictEqual } from 'node:util';
import type { Db, IndexDescriptionInfo } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { isServerError, unless } from '../connection/server-error-codes.ts';
import type { IndexPlan } from './collection-plans.ts';

type Listing = { readonly cursor: { readonly firstBatch: readonly (IndexInfo & { spec?: IndexInfo })[] } };

/** `buildUUID` is present during the build. */
export type IndexInfo = IndexDescriptionInfo & { readonly name: string };

/** @returns none if the collection does not exist */
export async function indexesOf(db: Db, collection: string): Promise<readonly IndexInfo[]> {
  // By default, the server does not distinguish an index during its build, which rejects no duplicate yet.
  const listing = db.command({ listIndexes: collection, includeBuildUUIDs: true });
  const reply = (await unless('NamespaceNotFound', listing)) as Listing | undefined;
  // During a build, the description is nested in `spec`.
  return reply?.cursor.firstBatch.map(({ spec, ...info }) => ({ ...spec, ...info })) ?? [];
}

/** Only these options decide what an index has and refuses. */
const EFFECTIVE = [
  'unique',
  'prepareUnique',
  'sparse',
  'partialFilterExpression',
  'collation',
  'expireAfterSeconds',
] as const;

/** The order of the fields counts, the name does not. */
export function isSameIndex(info: IndexInfo, plan: IndexPlan): boolean {
  const isSameKey = JSON.stringify(info.key) === JSON.stringify(plan.key);
  return isSameKey && EFFECTIVE.every((name) => isDeepStrictEqual(info[name] ?? false, plan[name] ?? false));
}

/** A unique index may have another name, and an index that queries hint at may not. */
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
