import { isDeepStrictEqual } from 'node:util';
import { type Db, type Document, MongoServerError } from 'mongodb';
import { NAMESPACE_NOT_FOUND } from './errors.ts';
import { COLLECTIONS, type IndexPlan, MIGRATE_HINT } from './schema.ts';

/** An index as the server describes it. `buildUUID` is there while it is being built. */
export type IndexInfo = {
  readonly name: string;
  readonly key: Document;
  readonly unique?: boolean;
  readonly hidden?: boolean;
  readonly buildUUID?: unknown;
};

type ListIndexesReply = {
  readonly cursor: { readonly firstBatch: readonly (IndexInfo & { readonly spec?: IndexInfo })[] };
};

/** What a collection has, what is still being built included; nothing where there is no collection. */
export async function indexesOf(db: Db, collection: string): Promise<readonly IndexInfo[]> {
  try {
    // Else the server shows an index that is being built like any other, though it refuses no duplicate yet.
    const reply = await db.command({ listIndexes: collection, includeBuildUUIDs: true });
    const { cursor } = reply as ListIndexesReply;
    // Of one that is being built the description is a level deeper.
    return cursor.firstBatch.map(({ spec, ...info }) => ({ ...spec, ...info }));
  } catch (error) {
    if (error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND) return [];
    throw error;
  }
}

/** Whether an index does what the plan says. What only guards may have another name; what is hinted at may not. */
export function isPlanned(info: IndexInfo, plan: IndexPlan): boolean {
  const { name, key, v: _v, ns: _ns, background: _background, ...options }: IndexInfo & Document = info;
  return (
    (name === plan.name || plan.options.unique === true) &&
    // The order of the fields counts.
    JSON.stringify(key) === JSON.stringify(plan.key) &&
    isDeepStrictEqual(options, { ...plan.options })
  );
}

/** What to do about the indexes that correctness needs, in one line, or `undefined` when they are all there. */
export async function indexProblem(db: Db): Promise<string | undefined> {
  const problems = COLLECTIONS.filter(({ indexes }) => indexes.length > 0).map(
    async ({ name: collection, indexes }) => {
      const there = await indexesOf(db, collection);
      return indexes
        .filter((plan) => plan.isNeeded && !there.some((info) => isPlanned(info, plan)))
        .map((plan) => `the collection "${collection}" ${stateOf(plan, there)}`);
    },
  );
  const all = (await Promise.all(problems)).flat();
  return all.length === 0
    ? undefined
    : `in the database "${db.databaseName}" ${all.join(', ')}; ${MIGRATE_HINT}`;
}

function stateOf({ name }: IndexPlan, there: readonly IndexInfo[]): string {
  const info = there.find((other) => other.name === name);
  if (info === undefined) return `lacks the index "${name}"`;
  return info.buildUUID === undefined
    ? `has an index "${name}" that is another than petstore needs`
    : `has the index "${name}" not yet: it is being built`;
}
