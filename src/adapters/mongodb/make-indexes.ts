import { type Db, MongoServerError } from 'mongodb';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { DUPLICATE_KEY } from './errors.ts';
import { type IndexInfo, indexesOf, isPlanned } from './indexes.ts';
import { type CollectionPlan, type IndexPlan, petsOf, RATE_LIMITS } from './schema.ts';

/** IndexNotFound, IndexBuildAborted, Interrupted: the codes of an index that somebody else drops. */
const DROPPED_MEANWHILE: ReadonlySet<unknown> = new Set([27, 276, 11_601]);

const MAX_ROUNDS = 10;

/** How many idempotency keys that several pets have are named. */
const MAX_NAMED = 10;

type Quorum = { readonly commitQuorum?: 'majority' };

/**
 * Makes what a collection lacks of its indexes, and makes those again that are not as planned. Waits while another
 * migration makes them.
 *
 * @throws {StorageSetupError} for what it cannot mend without harm
 */
export async function makeIndexes(db: Db, { name: collection, indexes }: CollectionPlan): Promise<void> {
  const { setName } = await db.command({ hello: 1 });
  // A member that is down must not hold up an index. Only a replica set knows the option.
  const quorum: Quorum = setName === undefined ? {} : { commitQuorum: 'majority' };
  for (const plan of indexes) {
    for (let round = 1; !(await makeIndex(db, collection, plan, quorum)); round++) {
      if (round === MAX_ROUNDS)
        throw new StorageSetupError('other migrations interrupt this one; migrate again');
    }
  }
}

/** @returns whether it is made. It is not when another migration has dropped it as if it were what was there before */
async function makeIndex(db: Db, collection: string, plan: IndexPlan, quorum: Quorum): Promise<boolean> {
  const there = await indexesOf(db, collection);
  if (there.some((info) => isPlanned(info, plan))) return true;
  try {
    for (const info of there.filter((other) => isInTheWay(other, plan)))
      await clear(db, collection, plan, info);
    await create(db, collection, plan, quorum);
    return true;
  } catch (error) {
    if (error instanceof MongoServerError && DROPPED_MEANWHILE.has(error.code)) return false;
    throw error;
  }
}

/** Has the name of the planned one, or does the same under another. One that is being built is waited for. */
function isInTheWay(info: IndexInfo, plan: IndexPlan): boolean {
  if (info.buildUUID !== undefined) return false;
  return info.name === plan.name || isPlanned({ ...info, name: plan.name }, plan);
}

async function clear(db: Db, collection: string, plan: IndexPlan, info: IndexInfo): Promise<void> {
  const { hidden: _hidden, ...shown } = info;
  if (isPlanned(shown, plan)) {
    await db.command({ collMod: collection, index: { name: info.name, hidden: false } });
    return;
  }
  if (info.unique) {
    throw new StorageSetupError(
      `the index "${info.name}" of the collection "${collection}" of the database "${db.databaseName}" is another ` +
        'than petstore needs, and guards against duplicates that services could write while it is made again; ' +
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
    if (!(error instanceof MongoServerError && error.code === DUPLICATE_KEY)) throw error;
    if (collection !== RATE_LIMITS) throw await duplicates(db, error);
    // Without their counts, keys begin a new window: that does no harm.
    await db.collection(collection).deleteMany({});
    await createIndex();
  }
}

async function duplicates(db: Db, cause: MongoServerError): Promise<StorageSetupError> {
  const groups = await petsOf(db)
    .aggregate<{ readonly ids: readonly unknown[] }>(
      [
        { $match: { 'idem.k': { $exists: true } } },
        { $sort: { _id: 1 } },
        { $group: { _id: '$idem.k', ids: { $push: '$_id' } } },
        { $match: { 'ids.1': { $exists: true } } },
        { $sort: { 'ids.0': 1 } },
        { $limit: MAX_NAMED + 1 },
      ],
      { allowDiskUse: true },
    )
    .toArray();
  const named = groups.slice(0, MAX_NAMED).map(({ ids }) => ids.join(', '));
  const more = groups.length > MAX_NAMED ? '; and more' : '';
  return new StorageSetupError(
    `in the database "${db.databaseName}" pets share an idempotency key (_id: ${named.join('; ')}${more}); ` +
      'remove the field "idem" from all of them but the one that its client was told of, then migrate again',
    { cause },
  );
}
