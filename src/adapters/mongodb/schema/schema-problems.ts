import { isDeepStrictEqual } from 'node:util';
import { BSON, type CreateCollectionOptions, type Db } from 'mongodb';
import { isServerError } from '../connection/server-error-codes.ts';
import { type CollectionPlan, COLLECTIONS, type SchemaProblem } from './collection-plans.ts';
import { durable } from './collections.ts';
import { indexesOf, indexProblems } from './indexes.ts';

export const UNSEEN =
  'the account of MongoDB may not list collections and all indexes, so capped collections, TTL indexes and the like ' +
  'go unnoticed; grant it the actions listCollections and listIndexes';

/**
 * The one place that says what is wrong with the collections and their indexes. What it does not name is fine, such as a
 * further plain index, or what a later MongoDB adds to its descriptions.
 *
 * @returns `isWhole: false` when the account may not see everything
 */
export async function examineSchema(db: Db) {
  const names = COLLECTIONS.map(({ name }) => name);
  const options = { nameOnly: false } as const;
  const infos = await ifPermitted(db.listCollections({ name: { $in: names } }, options).toArray());
  let isWhole = infos !== undefined;
  const examined = COLLECTIONS.map(async (plan) => {
    const info = infos?.find(({ name }) => name === plan.name);
    const problems = infos === undefined ? [] : collectionProblems(plan, info);
    // A view has no indexes.
    if (info !== undefined && info.type !== 'collection') return problems;
    const indexes = await ifPermitted(indexesOf(db, plan.name));
    isWhole &&= indexes !== undefined;
    return indexes === undefined ? problems : [...problems, ...indexProblems(plan, indexes)];
  });
  const problems = (await Promise.all(examined)).flat();
  return { problems, isWhole };
}

/** @returns what the operator must do, in one line; `undefined` if there is no problem */
export function described(
  problems: readonly SchemaProblem[],
  { databaseName }: Db,
  program: string,
): string | undefined {
  if (problems.length === 0) return undefined;
  const all = problems
    .map(({ collection, problem }) => `the collection "${collection}" ${problem}`)
    .join(', ');
  const commands = problems.flatMap(({ mend }) => (typeof mend === 'string' ? mend : []));
  const first =
    commands.length === 0 ? '' : `stop the services, run in mongosh: ${commands.join('; ')}; then `;
  return `in the database "${databaseName}" ${all}; ${first}run: ${program} migrate`;
}

async function ifPermitted<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isServerError(error, 'Unauthorized')) return undefined;
    throw error;
  }
}

/** What `listCollections` says of a collection, or a view. */
type CollectionInfo = { readonly type?: string; readonly options?: CreateCollectionOptions };

function collectionProblems(plan: CollectionPlan, info?: CollectionInfo): readonly SchemaProblem[] {
  const { name: collection, validator: planned } = plan;
  if (info === undefined)
    return [{ collection, problem: 'is missing', mend: (db) => createCollection(db, plan) }];
  const { type, options = {} } = info;
  const { capped, expireAfterSeconds, collation, validator = {} } = options;
  const { validationLevel = 'strict', validationAction = 'error' } = options;
  const its = `db.getCollection("${collection}")`;
  const copied =
    `${its}.aggregate([{ $out: "${collection}_copy" }]); ${its}.drop(); ` +
    `db.getCollection("${collection}_copy").renameCollection("${collection}")`;
  const modified = (how: string) => `db.runCommand({ collMod: "${collection}", ${how} })`;
  const isEnforced = validationLevel === 'strict' && validationAction === 'error';
  const isFree = isDeepStrictEqual(validator, {});
  const set = (db: Db) => db.command({ collMod: collection, validator: planned, writeConcern: durable(db) });
  const unset = modified('validator: {}, validationLevel: "strict", validationAction: "error"');
  const problems: readonly (readonly [boolean, Omit<SchemaProblem, 'collection'>])[] = [
    [type !== 'collection', { problem: `is a ${type}`, mend: copied }],
    [capped === true, { problem: 'is capped, so it deletes its oldest documents', mend: copied }],
    [
      expireAfterSeconds !== undefined,
      { problem: 'deletes documents after a time', mend: modified('expireAfterSeconds: "off"') },
    ],
    [
      collation !== undefined && collation.locale !== 'simple',
      { problem: 'has a collation, which compares text in another way', mend: copied },
    ],
    [isFree && isEnforced, { problem: 'lacks its validator', mend: set, isHarmless: true }],
    // One that is not enforced, or enforced in part, refuses nothing that petstore stores.
    [
      !(isFree && isEnforced) && !(isEnforced && isDeepStrictEqual(asStored(validator), asStored(planned))),
      { problem: 'has another validator', mend: unset, isHarmless: isFree || !isEnforced, refusesSome: true },
    ],
  ];
  return problems.flatMap(([isSo, problem]) => (isSo ? { collection, ...problem } : []));
}

/** Numbers of any type compare by their value. */
function asStored(validator: unknown): unknown {
  return JSON.parse(BSON.EJSON.stringify(validator, { relaxed: true }));
}

async function createCollection(db: Db, { name, validator }: CollectionPlan): Promise<void> {
  try {
    await db.createCollection(name, { validator });
  } catch (error) {
    // Another migration has created it.
    if (!isServerError(error, 'NamespaceExists')) throw error;
  }
}
