import { setTimeout as sleep } from 'node:timers/promises';
import { BSON, type Db, type Document } from 'mongodb';
import type { Migration } from '../../application/storage-kind.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { connect, toSetupError } from './connection/connect.ts';
import { isServerError } from './connection/server-error-codes.ts';
import { type CollectionPlan, COLLECTIONS } from './schema/collection-plans.ts';
import { DURABLE, versionsOf } from './schema/collections.ts';
import { createIndexes } from './schema/indexes.ts';
import { readVersion, SCHEMA_VERSION, versionProblem } from './schema/schema-version.ts';

/** How often to retry while another migration builds indexes. */
const RETRY_INTERVAL_MS = 200;

/**
 * Brings the database to the schema of this build. Every step can be repeated and run by several
 * migrations at once. The version is written last: it guarantees the rest.
 *
 * @throws {StorageSetupError} if MongoDB cannot be reached, if the schema has another version, and if a repair needs a
 *   decision
 */
export async function migrate(url: string): Promise<Migration> {
  // Building an index over many pets can take any time.
  const client = await connect(url, { socketTimeoutMS: 0, appName: 'petstore-migrate' });
  try {
    const db = client.db();
    const from = await readVersion(db);
    const problem = from === undefined ? undefined : versionProblem(from, db.databaseName);
    if (problem !== undefined) throw new StorageSetupError(problem);
    for (const plan of COLLECTIONS) {
      await createCollection(db, plan);
      if (from === undefined) await refuseInvalidDocuments(db, plan);
      await createIndexes(db, plan);
    }
    await versionsOf(db).updateOne(
      { _id: 'petstore' },
      { $max: { version: SCHEMA_VERSION } },
      { upsert: true },
    );
    return { database: db.databaseName, from, to: SCHEMA_VERSION };
  } catch (error) {
    throw toSetupError(client, error);
  } finally {
    await client.close();
  }
}

async function createCollection(db: Db, { name, validator }: CollectionPlan): Promise<void> {
  try {
    await db.createCollection(name, { validator });
  } catch (error) {
    if (!isServerError(error, 'NamespaceExists')) throw error;
    await setValidator(db, name, validator);
  }
}

/** Waits, without a limit, while another migration builds indexes. */
async function setValidator(db: Db, name: string, validator: Document): Promise<void> {
  for (;;) {
    try {
      await db.command({ collMod: name, validator, writeConcern: DURABLE });
      return;
    } catch (error) {
      if (!isServerError(error, 'BackgroundOperationInProgressForNamespace')) throw error;
    }
    await sleep(RETRY_INTERVAL_MS);
  }
}

/** A validator does not check existing documents. */
async function refuseInvalidDocuments(
  db: Db,
  { name, documentName, validator }: CollectionPlan,
): Promise<void> {
  const invalid = await db.collection(name).findOne({ $nor: [validator] }, { projection: { _id: 1 } });
  if (invalid !== null) {
    throw new StorageSetupError(
      `the collection "${name}" of the database "${db.databaseName}" has a document that is not a valid ` +
        `${documentName} (_id: ${BSON.EJSON.stringify(invalid._id)}); repair or remove it, then migrate again`,
    );
  }
}
