import { BSON, type Db } from 'mongodb';
import type { Migration } from '../../application/ports/storage-kind.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { connect, throwIfProblem, toSetupError } from './connection/connect.ts';
import { COLLECTIONS, SCHEMA } from './schema/collection-plans.ts';
import { underLease } from './schema/migration-lease.ts';
import { describeProblems, examineSchema } from './schema/schema-problems.ts';
import { DEFAULT_PROGRAM, versionProblem } from './schema/schema-version.ts';

/**
 * Migrates the database to the schema of this build. Services may run meanwhile: see
 * docs/explanation/a-write-on-mongodb.md#the-schema-and-its-migration.
 *
 * @throws {StorageSetupError} if MongoDB cannot be reached, if this build cannot migrate the version, or if an operator
 *   must act first
 */
export async function migrate(url: string, program = DEFAULT_PROGRAM): Promise<Migration> {
  // The build of an index has no time limit.
  const client = await connect(url, { socketTimeoutMS: 0, appName: 'petstore-migrate' });
  try {
    const db = client.db();
    const { databaseName: database } = db;
    // A refusal changes nothing, because the plan comes before the lease.
    const { stored, isUpToDate } = await planRepairs(db, program);
    const { version: from, step, last, isEarlier, isLater } = stored;
    if (isLater) return { database, from, to: from ?? 0, note: `${LATER} ${last}, and nothing was changed` };
    if (!isUpToDate) await underLease(db, (renewLease) => repairAll(db, program, renewLease));
    const note = `step ${SCHEMA.step} (before: ${step})`;
    return { database, from, to: SCHEMA.version, ...(isEarlier && { note }) };
  } catch (error) {
    throw toSetupError(client, error);
  } finally {
    await client.close();
  }
}

const LATER = 'a later build has made or begun step';

async function repairAll(db: Db, program: string, renewLease: () => Promise<void>): Promise<void> {
  const { stored, repairs } = await planRepairs(db, program);
  if (stored.isLater) throw new StorageSetupError(`${LATER} ${stored.last}, and nothing was changed`);
  for (const repair of repairs) {
    await renewLease();
    await repair(db);
  }
  // Problems can remain: documents may be older than the validator, and another program may have changed the schema.
  const { problems, repairs: remainingRepairs } = await planRepairs(db, program);
  if (remainingRepairs.length > 0) throwIfProblem(describeProblems(problems, db, program));
}

async function planRepairs(db: Db, program: string) {
  const { problems, stored, warning } = await examineSchema(db);
  const { version, isEarlier } = stored;
  const isNew = version === undefined;
  if (!isNew && !isEarlier) throwIfProblem(versionProblem(stored, db.databaseName, `${program} migrate`));
  const operatorProblems = problems.filter(({ repair }) => typeof repair === 'string');
  throwIfProblem(warning ?? describeProblems(operatorProblems, db, program));
  if (isNew) await refuseInvalidDocuments(db);
  const repairs = problems.flatMap(({ repair }) => (typeof repair === 'function' ? repair : []));
  return { stored, problems, repairs, isUpToDate: !isNew && !isEarlier && repairs.length === 0 };
}

/** A new validator does not check the existing documents. */
async function refuseInvalidDocuments(db: Db): Promise<void> {
  for (const { name, documentName, validator } of COLLECTIONS) {
    const invalid = await db.collection(name).findOne({ $nor: [validator] }, { projection: { _id: 1 } });
    if (invalid === null) continue;
    throw new StorageSetupError(
      `the collection "${name}" of the database "${db.databaseName}" has a document that is not a valid ` +
        `${documentName} (_id: ${BSON.EJSON.stringify(invalid._id)}); repair or remove it, then migrate again`,
    );
  }
}
