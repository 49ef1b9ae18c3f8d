import { BSON, type Db } from 'mongodb';
import type { Migration } from '../../application/ports/storage-kind.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { connect, throwIfProblem, toSetupError } from './connection/connect.ts';
import { COLLECTIONS, SCHEMA } from './schema/collection-plans.ts';
import { underLease } from './schema/migration-lease.ts';
import { described, examineSchema } from './schema/schema-problems.ts';
import {
  DEFAULT_PROGRAM,
  isLater,
  isMigratable,
  type StoredSchema,
  versionProblem,
} from './schema/schema-version.ts';

/**
 * Brings the database to the schema of this build: creates what is missing, and replaces the validators of an earlier
 * step. It changes nothing else that is there, and nothing at all after a later build. Every part can be repeated, while
 * services run. The numbers are written last: they guarantee the rest.
 *
 * @param program how a user calls the program, for hints
 * @throws {StorageSetupError} if MongoDB cannot be reached, if the schema has a version that this build cannot migrate,
 *   and if something is in the way
 */
export async function migrate(url: string, program = DEFAULT_PROGRAM): Promise<Migration> {
  // Building an index over many pets can take any time.
  const client = await connect(url, { socketTimeoutMS: 0, appName: 'petstore-migrate' });
  try {
    const db = client.db();
    // Before it changes anything, because a refusal should change nothing.
    const { stored, repairs } = await plan(db, program);
    if (repairs.length > 0 || !isDone(stored)) {
      await underLease(db, async (hold) => {
        // Another migration may have ended meanwhile.
        const now = await plan(db, program);
        if (isLater(now.stored)) return;
        for (const repair of now.repairs) {
          await hold();
          await repair(db);
        }
        // Again: what came before its validator is not checked by it, and others may have changed something.
        const left = await plan(db, program);
        if (left.repairs.length > 0) throwIfProblem(described(left.problems, db, program));
      });
    }
    return { database: db.databaseName, from: stored.version, ...outcome(stored) };
  } catch (error) {
    throw toSetupError(client, error);
  } finally {
    await client.close();
  }
}

function isDone(stored: StoredSchema): boolean {
  const { version = 0, step } = stored;
  return isLater(stored) || (version >= SCHEMA.version && step >= SCHEMA.step);
}

function outcome(stored: StoredSchema): Pick<Migration, 'to' | 'note'> {
  const { version = 0, step, begun } = stored;
  const to = Math.max(version, SCHEMA.version);
  if (isLater(stored))
    return { to: version, note: `a later build has migrated it to step ${begun}, nothing was changed` };
  return isDone(stored) || version === 0 ? { to } : { to, note: `step ${SCHEMA.step} (before: ${step})` };
}

/**
 * @returns what is to do, in this order
 * @throws {StorageSetupError} if an operator must do something first
 */
async function plan(db: Db, program: string) {
  const { problems, stored, hidden } = await examineSchema(db);
  if (!isMigratable(stored)) throwIfProblem(versionProblem(stored, db.databaseName, `${program} migrate`));
  if (isLater(stored)) return { stored, problems, repairs: [] };
  const lasting = problems.filter(({ repair }) => typeof repair === 'string');
  throwIfProblem(hidden ?? described(lasting, db, program));
  if (stored.version === undefined) await refuseInvalidDocuments(db);
  const repairs = problems.flatMap(({ repair }) => (typeof repair === 'function' ? repair : []));
  return { stored, problems, repairs };
}

/** A validator does not check existing documents. */
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
