import { isDeepStrictEqual } from 'node:util';
import type { Db, Document } from 'mongodb';
import { isServerError } from '../connection/server-error-codes.ts';
import { COLLECTIONS, type IndexPlan } from './collection-plans.ts';

/** An index as the server describes it. */
export type IndexInfo = {
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
export async function indexesOf(db: Db, collection: string): Promise<readonly IndexInfo[]> {
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

/**
 * Whether an index is ready and has the planned definition. A unique index may have another name. An index that queries
 * hint at may not.
 */
export function isPlanned(info: IndexInfo, plan: IndexPlan): boolean {
  const { name, key, v: _v, ns: _ns, background: _background, ...options }: IndexInfo & Document = info;
  return (
    (name === plan.name || plan.options.unique === true) &&
    // The order of the fields counts.
    JSON.stringify(key) === JSON.stringify(plan.key) &&
    isDeepStrictEqual(options, { ...plan.options })
  );
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
    const required = indexes.filter(({ isRequired }) => isRequired);
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
