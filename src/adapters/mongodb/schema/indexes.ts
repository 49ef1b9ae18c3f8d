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
import { DURABLE, petsOf, RATE_LIMITS } from './collections.ts';

const MAX_ATTEMPTS = 10;

/** How many groups of pets that share an idempotency key a message names. */
const MAX_NAMED_GROUPS = 10;

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

/**
 * Whether an index is ready and has the planned definition. A unique index may have another name. An index that queries
 * hint at may not.
 */
function isPlanned(info: IndexInfo, plan: IndexPlan): boolean {
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

type Quorum = { readonly commitQuorum?: 'majority' };

/**
 * Creates the missing indexes of a collection and replaces those with another definition. Waits while another migration
 * builds them.
 *
 * @throws {StorageSetupError} if a repair could lose data or needs a decision
 */
export async function createIndexes(db: Db, { name: collection, indexes }: CollectionPlan): Promise<void> {
  const { setName } = await db.command({ hello: 1 });
  // With the default quorum, one member that is down blocks the build. A standalone server rejects the option.
  const quorum: Quorum = setName === undefined ? {} : { commitQuorum: 'majority' };
  for (const plan of indexes) {
    for (let attempt = 1; !(await ensureIndex(db, collection, plan, quorum)); attempt++) {
      if (attempt === MAX_ATTEMPTS)
        throw new StorageSetupError('other migrations keep interrupting this one; migrate again');
    }
  }
}

/** @returns `false` if another migration dropped the index during the build */
async function ensureIndex(db: Db, collection: string, plan: IndexPlan, quorum: Quorum): Promise<boolean> {
  const existing = await indexesOf(db, collection);
  if (existing.some((info) => isPlanned(info, plan))) return true;
  try {
    for (const info of existing.filter((other) => isInTheWay(other, plan)))
      await unhideOrDrop(db, collection, plan, info);
    await create(db, collection, plan, quorum);
    return true;
  } catch (error) {
    if (isServerError(error, 'IndexNotFound', 'IndexBuildAborted', 'Interrupted')) return false;
    throw error;
  }
}

/** Whether an index has the planned name, or the planned definition under another name, and is ready. */
function isInTheWay(info: IndexInfo, plan: IndexPlan): boolean {
  if (info.buildUUID !== undefined) return false;
  return info.name === plan.name || isPlanned({ ...info, name: plan.name }, plan);
}

async function unhideOrDrop(db: Db, collection: string, plan: IndexPlan, info: IndexInfo): Promise<void> {
  const { hidden: _hidden, ...visible } = info;
  if (isPlanned(visible, plan)) {
    const index = { name: info.name, hidden: false };
    await db.command({ collMod: collection, index, writeConcern: DURABLE });
    return;
  }
  if (info.unique) {
    throw new StorageSetupError(
      `the index "${info.name}" of the collection "${collection}" of the database "${db.databaseName}" has another ` +
        'definition and rejects duplicates, which services could write while it is replaced; ' +
        'stop them, drop it, then migrate again',
    );
  }
  await db.collection(collection).dropIndex(info.name);
}

async function create(db: Db, collection: string, plan: IndexPlan, quorum: Quorum): Promise<void> {
  const { key, name, options } = plan;
  const createIndex = () => db.collection(collection).createIndex(key, { name, ...options }, quorum);
  try {
    await createIndex();
  } catch (error) {
    if (!isServerError(error, 'DuplicateKey')) throw error;
    if (collection !== RATE_LIMITS) throw await duplicateKeysError(db, error);
    // Losing counts is harmless: the keys begin a new window.
    await db.collection(collection).deleteMany({});
    await createIndex();
  }
}

/** @returns the ids of the pets in each group that shares an idempotency key; at most {@link MAX_NAMED_GROUPS} + 1 */
export async function sharedIdempotencyKeys(db: Db): Promise<readonly (readonly unknown[])[]> {
  const groups = await petsOf(db)
    .aggregate<{ readonly ids: readonly unknown[] }>(
      [
        { $match: { 'idem.k': { $exists: true } } },
        { $sort: { _id: 1 } },
        { $group: { _id: '$idem.k', ids: { $push: '$_id' } } },
        { $match: { 'ids.1': { $exists: true } } },
        { $sort: { 'ids.0': 1 } },
        { $limit: MAX_NAMED_GROUPS + 1 },
      ],
      { allowDiskUse: true },
    )
    .toArray();
  return groups.map(({ ids }) => ids);
}

async function duplicateKeysError(db: Db, cause: unknown): Promise<StorageSetupError> {
  const groups = await sharedIdempotencyKeys(db);
  const named = groups.slice(0, MAX_NAMED_GROUPS).map((ids) => ids.join(', '));
  const more = groups.length > MAX_NAMED_GROUPS ? '; and more' : '';
  return new StorageSetupError(
    `in the database "${db.databaseName}" pets share an idempotency key (_id: ${named.join('; ')}${more}); ` +
      'keep the field "idem" only in the pet that the client was told of, then migrate again',
    { cause },
  );
}
