import { isDeepStrictEqual } from 'node:util';
import type { Db, IndexDescriptionInfo } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { isServerError, ignore } from '../connection/server-error-codes.ts';
import type { IndexPlan } from './collection-plans.ts';

type Listing = { readonly cursor: { readonly firstBatch: readonly (IndexInfo & { spec?: IndexInfo })[] } };

/** `buildUUID` is present while the server builds the index. */
export type IndexInfo = IndexDescriptionInfo & { readonly name: string };

export async function indexesOf(db: Db, collection: string): Promise<readonly IndexInfo[]> {
  // An unfinished index rejects no duplicates. Only this option marks such an index in the reply.
  const listing = db.command({ listIndexes: collection, includeBuildUUIDs: true });
  const reply = (await ignore('NamespaceNotFound', listing)) as Listing | undefined;
  // The description of an unfinished index is nested in `spec`.
  return reply?.cursor.firstBatch.map(({ spec, ...info }) => ({ ...spec, ...info })) ?? [];
}

/** The options that decide which documents an index contains and refuses. */
const OPTIONS = [
  'unique',
  'prepareUnique',
  'sparse',
  'partialFilterExpression',
  'collation',
  'expireAfterSeconds',
] as const;

/** Compares the fields in their order, and the options. The names may differ. */
export function isSameIndex(info: IndexInfo, plan: IndexPlan): boolean {
  const isSameKey = JSON.stringify(info.key) === JSON.stringify(plan.key);
  return isSameKey && OPTIONS.every((name) => isDeepStrictEqual(info[name] ?? false, plan[name] ?? false));
}

/** A unique index may have any name. Queries refer to the other indexes by the planned name. */
export function isReady(plan: IndexPlan, existing: readonly IndexInfo[]): boolean {
  return existing.some((info) => {
    const isNameRight = info.name === plan.name || plan.unique === true;
    return isNameRight && !('buildUUID' in info) && !info.hidden && isSameIndex(info, plan);
  });
}

/** @throws {StorageSetupError} if documents share a value of a unique index */
export async function createIndex(db: Db, collection: string, plan: IndexPlan): Promise<void> {
  const { remedy, isOptional: _, ...index } = plan;
  const { setName } = await db.command({ hello: 1 });
  // With the default quorum, one member that is down blocks the build. A standalone server rejects a quorum.
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
