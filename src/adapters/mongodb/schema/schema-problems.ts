import { isDeepStrictEqual } from 'node:util';
import { BSON, type CollectionInfo, type CreateCollectionOptions, type Db } from 'mongodb';
import { unless } from '../connection/server-error-codes.ts';
import { type CollectionPlan, COLLECTIONS } from './collection-plans.ts';
import { durable } from './collections.ts';
import { createIndex, type IndexInfo, indexesOf, isReady, isSameIndex } from './indexes.ts';
import { readSchema, type StoredSchema } from './schema-version.ts';

/** A text is a command for mongosh: `migrate` changes nothing that others have made. */
type Repair = ((db: Db) => Promise<unknown>) | string;

/**
 * `refusals`: no service starts, but a running one stores other documents. `losses`: documents are lost, or answers
 * wrong.
 */
type Harm = 'none' | 'refusals' | 'losses';

/** Something missing or foreign that loses, refuses or reorders documents. */
export type SchemaProblem = {
  readonly collection: string;
  /** Completes "the collection …" in one line. */
  readonly problem: string;
  readonly repair: Repair;
  readonly harm: Harm;
};

type Row = readonly [isSo: boolean, problem: string, repair: Repair, harm?: Harm];

/** While a change waits for its lock, requests of services wait behind it. */
const ENFORCED = { validationLevel: 'strict', validationAction: 'error', maxTimeMS: 5_000 } as const;

export const PARTLY_HIDDEN =
  'the account of MongoDB may not list collections and all indexes, so capped collections, TTL indexes and the like ' +
  'go unnoticed; grant it the actions listCollections and listIndexes';

/**
 * Any fact that this examination does not name is accepted, such as a further plain index, or a new field of a later
 * MongoDB.
 *
 * @returns `hidden`: a warning, if the account may not see everything
 */
export async function examineSchema(db: Db) {
  const filter = { name: { $in: COLLECTIONS.map(({ name }) => name) } };
  const infos = await unless('Unauthorized', db.listCollections(filter, { nameOnly: false }).toArray());
  let seesAll = infos !== undefined;
  const seen = COLLECTIONS.map(async (plan) => {
    const info = infos?.find(({ name }) => name === plan.name);
    const isCollection = info === undefined || info.type === 'collection';
    // A view has no indexes.
    const indexes = isCollection ? await unless('Unauthorized', indexesOf(db, plan.name)) : undefined;
    if (isCollection && indexes === undefined) seesAll = false;
    return { plan, info, indexes };
  });
  const found = await Promise.all(seen);
  // Last, because a migration stores that it has begun before it changes something.
  const stored = await readSchema(db);
  const problems = found.flatMap(({ plan, info, indexes }): readonly SchemaProblem[] => {
    const ofCollection = infos ? collectionRows(plan, stored, info) : [];
    const rows = [...ofCollection, ...(indexes ? indexRows(plan, stored, indexes) : [])];
    const { name: collection } = plan;
    const wrong = rows.filter(([isSo]) => isSo);
    return wrong.map(([, problem, repair, harm = 'losses']) => ({ collection, problem, repair, harm }));
  });
  return { problems, stored, hidden: seesAll ? undefined : PARTLY_HIDDEN };
}

/** @returns what the operator must do, in one line; `undefined` if there is no problem */
export function described(problems: readonly SchemaProblem[], { databaseName }: Db, program: string) {
  if (problems.length === 0) return undefined;
  const all = problems.map(({ collection, problem }) => `the collection "${collection}" ${problem}`);
  const commands = problems.flatMap(({ repair }) => (typeof repair === 'string' ? repair : [])).join('; ');
  const first = commands && `stop the services, run in mongosh: ${commands}; then `;
  return `in the database "${databaseName}" ${all.join(', ')}; ${first}run: ${program} migrate`;
}

function collectionRows(plan: CollectionPlan, stored: StoredSchema, info?: CollectionInfo): readonly Row[] {
  const { name, validator: planned } = plan;
  const create = (db: Db) => unless('NamespaceExists', db.createCollection(name, { validator: planned }));
  if (info === undefined) return [[true, 'is missing', create]];
  const options: CreateCollectionOptions = info.options ?? {};
  const { capped, expireAfterSeconds, collation, validator = {} } = options;
  const { validationLevel = 'strict', validationAction = 'error' } = options;
  const copy =
    `db.getCollection("${name}").aggregate([{ $out: "${name}_copy" }]); db.getCollection("${name}").drop(); ` +
    `db.getCollection("${name}_copy").renameCollection("${name}")`;
  const modify = (how: string) => `db.runCommand({ collMod: "${name}", ${how} })`;
  const unset = modify('validator: {}, validationLevel: "strict", validationAction: "error"');
  const how = { collMod: name, validator: planned, ...ENFORCED };
  const set = (db: Db) => db.command({ ...how, writeConcern: durable(db) });
  const expires = expireAfterSeconds !== undefined;
  const reorders = collation !== undefined && collation.locale !== 'simple';
  const isEnforced = validationLevel === 'strict' && validationAction === 'error';
  const isEmpty = isDeepStrictEqual(validator, {});
  const lacks = isEnforced && isEmpty;
  const isOurs = isEnforced && isDeepStrictEqual(asStored(validator), asStored(planned));
  // An unenforced validator refuses nothing that petstore stores.
  const harm = isEmpty || !isEnforced ? 'none' : 'refusals';
  // A step also replaces what an operator has put in the place of the earlier validator.
  const replace = stored.isEarlier ? set : unset;
  return [
    [info.type !== 'collection', `is a ${info.type}`, copy],
    [capped === true, 'is capped, so it deletes its oldest documents', copy],
    [expires, 'deletes documents after a time', modify('expireAfterSeconds: "off"')],
    [reorders, 'has a collation, which compares text in another way', copy],
    [!stored.isLater && lacks, 'lacks its validator', set, 'none'],
    [!stored.isLater && !lacks && !isOurs, 'has another validator', replace, harm],
  ];
}

function indexRows(plan: CollectionPlan, stored: StoredSchema, existing: readonly IndexInfo[]): Row[] {
  const { name: collection, indexes } = plan;
  const inMongosh = (name: string, how = 'dropIndex') =>
    `db.getCollection("${collection}").${how}("${name}")`;
  const planned = indexes.map((index): Row => {
    const { name, isOptional } = index;
    const harm = isOptional ? 'none' : 'losses';
    const row = (problem: string, repair: Repair): Row => [!isReady(index, existing), problem, repair, harm];
    const create = (db: Db) => createIndex(db, collection, index);
    // The server refuses a second index with the same name or definition.
    const other = existing.find((info) => info.name === name || isSameIndex(info, index));
    if (other === undefined) return row(`lacks the index "${name}"`, create);
    if ('buildUUID' in other) return row(`is still building the index "${name}"`, create);
    // A later build may change the index, but not remove it: this build needs the index.
    if (stored.isLater) return [false, '', create];
    const drop = inMongosh(other.name);
    if (other.name !== name) return row(`has the index "${other.name}" in the place of "${name}"`, drop);
    const isHidden = other.hidden === true && isSameIndex(other, index);
    if (isHidden) return row(`hides the index "${name}"`, inMongosh(name, 'unhideIndex'));
    return row(`has an index "${name}" with another definition`, drop);
  });
  const foreign = existing.map((info): Row => {
    const { name, key, unique, prepareUnique, expireAfterSeconds } = info;
    const isPlanned = indexes.some((index) => name === index.name || isSameIndex(info, index));
    const isOurs = isPlanned || JSON.stringify(key) === '{"_id":1}';
    const deletes = expireAfterSeconds !== undefined;
    const harms = deletes || unique === true || prepareUnique === true;
    const problem = `has the index "${name}", which petstore has not created and which ${deletes ? 'deletes' : 'refuses'} documents`;
    return [!stored.isLater && !isOurs && harms, problem, inMongosh(name), deletes ? 'losses' : 'refusals'];
  });
  return [...planned, ...foreign];
}

/** Numbers compare by value, whatever their types. */
function asStored(validator: unknown): unknown {
  return JSON.parse(BSON.EJSON.stringify(validator, { relaxed: true }));
}
