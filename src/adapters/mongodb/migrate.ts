import { BSON, type Db } from 'mongodb';
import type { Migration } from '../../application/storage-kind.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { connect, toSetupError } from './connection/connect.ts';
import { isServerError } from './connection/server-error-codes.ts';
import { type CollectionPlan, COLLECTIONS } from './schema/collection-plans.ts';
import { DURABLE, versionsOf } from './schema/collections.ts';
import { createIndexes } from './schema/indexes.ts';
import { readVersion, SCHEMA_VERSION, versionProblem } from './schema/schema-version.ts';
import { isValidated } from './schema/validator.ts';

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

async function createCollection(db: Db, plan: CollectionPlan): Promise<void> {
  const { name, validator } = plan;
  const [info] = await db.listCollections({ name }, { nameOnly: false }).toArray();
  if (info?.options !== undefined && isValidated(info.options, plan)) return;
  try {
    if (info === undefined) await db.createCollection(name, { validator });
    else await db.command({ collMod: name, validator, writeConcern: DURABLE });
  } catch (error) {
    // Another migration has created it.
    if (!isServerError(error, 'NamespaceExists')) throw error;
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
