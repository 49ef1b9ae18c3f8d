import { isDeepStrictEqual } from 'node:util';
import { BSON, type CollectionInfo, type CreateCollectionOptions, type Db } from 'mongodb';
import { ignore } from '../connection/server-error-codes.ts';
import { type CollectionPlan, COLLECTIONS } from './collection-plans.ts';
import { durableConcern } from './collections.ts';
import { createIndex, type IndexInfo, indexesOf, isReady, isSameIndex } from './indexes.ts';
import { readSchema, type StoredSchema } from './schema-version.ts';

/** A text is a command for mongosh, because `migrate` changes nothing that the operator has made. */
type Repair = ((db: Db) => Promise<unknown>) | string;

/**
 * `refusals`: no service starts, but a running service stores the documents that MongoDB accepts. `losses`: documents
 * are lost, or answers are wrong.
 */
type Harm = 'none' | 'refusals' | 'losses';

/** A missing, changed or foreign part of the schema. */
export type SchemaProblem = {
  readonly collection: string;
  /** Completes "the collection …" in one line. */
  readonly problem: string;
  readonly repair: Repair;
  readonly harm: Harm;
};

type Row = readonly [isPresent: boolean, problem: string, repair: Repair, harm?: Harm];

/** `maxTimeMS`: requests of services wait behind a change that waits for its lock. */
const ENFORCEMENT = { validationLevel: 'strict', validationAction: 'error', maxTimeMS: 5_000 } as const;

export const PRIVILEGES_WARNING =
  'the account of MongoDB may not list collections and all indexes, so petstore does not notice capped ' +
  'collections, TTL indexes and similar settings; grant it the actions listCollections and listIndexes';

/**
 * Accepts everything that it does not look for, such as an additional plain index, or an option of a later MongoDB.
 *
 * @returns `warning`: present if the account may not see the whole schema
 */
export async function examineSchema(db: Db) {
  const filter = { name: { $in: COLLECTIONS.map(({ name }) => name) } };
  const infos = await ignore('Unauthorized', db.listCollections(filter, { nameOnly: false }).toArray());
  let seesAll = infos !== undefined;
  const examinations = COLLECTIONS.map(async (plan) => {
    const info = infos?.find(({ name }) => name === plan.name);
    const isCollection = info === undefined || info.type === 'collection';
    // A view has no indexes.
    const indexes = isCollection ? await ignore('Unauthorized', indexesOf(db, plan.name)) : undefined;
    if (isCollection && indexes === undefined) seesAll = false;
    return { plan, info, indexes };
  });
  const results = await Promise.all(examinations);
  // Read last, because a migration stores that it has begun before it changes something.
  const stored = await readSchema(db);
  const problems = results.flatMap(({ plan, info, indexes }): readonly SchemaProblem[] => {
    const rowsOfCollection = infos ? collectionRows(plan, stored, info) : [];
    const rows = [...rowsOfCollection, ...(indexes ? indexRows(plan, stored, indexes) : [])];
    const { name: collection } = plan;
    const problemRows = rows.filter(([isPresent]) => isPresent);
    return problemRows.map(([, problem, repair, harm = 'losses']) => ({ collection, problem, repair, harm }));
  });
  return { problems, stored, warning: seesAll ? undefined : PRIVILEGES_WARNING };
}

/** @returns what the operator must do, in one line, if there is a problem */
export function describeProblems(problems: readonly SchemaProblem[], { databaseName }: Db, program: string) {
  if (problems.length === 0) return undefined;
  const problemTexts = problems.map(({ collection, problem }) => `the collection "${collection}" ${problem}`);
  const commands = problems.flatMap(({ repair }) => (typeof repair === 'string' ? repair : [])).join('; ');
  const mongoshSteps = commands && `stop the services, run in mongosh: ${commands}; then `;
  return `in the database "${databaseName}" ${problemTexts.join(', ')}; ${mongoshSteps}run: ${program} migrate`;
}

function collectionRows(plan: CollectionPlan, stored: StoredSchema, info?: CollectionInfo): readonly Row[] {
  const { name, validator: planned } = plan;
  const create = (db: Db) => ignore('NamespaceExists', db.createCollection(name, { validator: planned }));
  if (info === undefined) return [[true, 'is missing', create]];
  const options: CreateCollectionOptions = info.options ?? {};
  const { capped, expireAfterSeconds, collation, validator = {} } = options;
  const { validationLevel = 'strict', validationAction = 'error' } = options;
  const copyCommands =
    `db.getCollection("${name}").aggregate([{ $out: "${name}_copy" }]); db.getCollection("${name}").drop(); ` +
    `db.getCollection("${name}_copy").renameCollection("${name}")`;
  const modify = (change: string) => `db.runCommand({ collMod: "${name}", ${change} })`;
  const removeValidator = modify('validator: {}, validationLevel: "strict", validationAction: "error"');
  const command = { collMod: name, validator: planned, ...ENFORCEMENT };
  const setValidator = (db: Db) => db.command({ ...command, writeConcern: durableConcern(db) });
  const hasExpiry = expireAfterSeconds !== undefined;
  const hasCollation = collation !== undefined && collation.locale !== 'simple';
  const isEnforced = validationLevel === 'strict' && validationAction === 'error';
  const isEmpty = isDeepStrictEqual(validator, {});
  const lacksValidator = isEnforced && isEmpty;
  const isPlanned = isEnforced && isDeepStrictEqual(toComparableForm(validator), toComparableForm(planned));
  // A validator that is not enforced refuses no document of petstore.
  const harm = isEmpty || !isEnforced ? 'none' : 'refusals';
  // A migration from an earlier step replaces any validator, even one that the operator has set.
  const replacement = stored.isEarlier ? setValidator : removeValidator;
  return [
    [info.type !== 'collection', `is a ${info.type}`, copyCommands],
    [capped === true, 'is capped, so it deletes its oldest documents', copyCommands],
    [hasExpiry, 'deletes documents after a time', modify('expireAfterSeconds: "off"')],
    [hasCollation, 'has a collation, which compares text in another way', copyCommands],
    [!stored.isLater && lacksValidator, 'lacks its validator', setValidator, 'none'],
    [!stored.isLater && !lacksValidator && !isPlanned, 'has another validator', replacement, harm],
  ];
}

function indexRows(plan: CollectionPlan, stored: StoredSchema, existing: readonly IndexInfo[]): Row[] {
  const { name: collection, indexes } = plan;
  const inMongosh = (name: string, method = 'dropIndex') =>
    `db.getCollection("${collection}").${method}("${name}")`;
  const plannedRows = indexes.map((index): Row => {
    const { name, isOptional } = index;
    const harm = isOptional ? 'none' : 'losses';
    const row = (problem: string, repair: Repair): Row => [!isReady(index, existing), problem, repair, harm];
    const create = (db: Db) => createIndex(db, collection, index);
    // The server refuses a second index with the same name or definition.
    const match = existing.find((info) => info.name === name || isSameIndex(info, index));
    if (match === undefined) return row(`lacks the index "${name}"`, create);
    if ('buildUUID' in match) return row(`is still building the index "${name}"`, create);
    // A later build may have changed the index. A missing index is reported above, because this build needs it.
    if (stored.isLater) return [false, '', create];
    const drop = inMongosh(match.name);
    if (match.name !== name) return row(`has the index "${match.name}" in the place of "${name}"`, drop);
    const isHidden = match.hidden === true && isSameIndex(match, index);
    if (isHidden) return row(`hides the index "${name}"`, inMongosh(name, 'unhideIndex'));
    return row(`has an index "${name}" with another definition`, drop);
  });
  const foreignRows = existing.map((info): Row => {
    const { name, key, unique, prepareUnique, expireAfterSeconds } = info;
    const isPlanned = indexes.some((index) => name === index.name || isSameIndex(info, index));
    const isOurs = isPlanned || JSON.stringify(key) === '{"_id":1}';
    const isTtl = expireAfterSeconds !== undefined;
    const isHarmful = isTtl || unique === true || prepareUnique === true;
    const problem = `has the index "${name}", which petstore has not created and which ${isTtl ? 'deletes' : 'refuses'} documents`;
    return [!stored.isLater && !isOurs && isHarmful, problem, inMongosh(name), isTtl ? 'losses' : 'refusals'];
  });
  return [...plannedRows, ...foreignRows];
}

/** Equal numbers of different BSON types become equal. */
function toComparableForm(validator: unknown): unknown {
  return JSON.parse(BSON.EJSON.stringify(validator, { relaxed: true }));
}
