import { BSON, type Db } from 'mongodb';
import type { Migration } from '../../application/ports/storage-kind.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { connect, throwIfProblem, toSetupError } from './connection/connect.ts';
import { COLLECTIONS } from './schema/collection-plans.ts';
import { versionsOf } from './schema/collections.ts';
import { described, examineSchema } from './schema/schema-problems.ts';
import { DEFAULT_PROGRAM, readVersion, SCHEMA_VERSION, versionProblem } from './schema/schema-version.ts';

/**
 * Brings the database to the schema of this build: creates what is missing, and changes nothing that is there. Every
 * step can be repeated and run by several migrations at once. The version is written last: it guarantees the rest.
 *
 * @param program how a user calls the program, for hints
 * @throws {StorageSetupError} if MongoDB cannot be reached, if the schema has another version, and if something is in
 *   the way
 */
export async function migrate(url: string, program = DEFAULT_PROGRAM): Promise<Migration> {
  // Building an index over many pets can take any time.
  const client = await connect(url, { socketTimeoutMS: 0, appName: 'petstore-migrate' });
  try {
    const db = client.db();
    const from = await readVersion(db);
    if (from !== undefined) throwIfProblem(versionProblem(from, db.databaseName, `${program} migrate`));
    const { problems, hidden } = await examineSchema(db);
    const lasting = problems.filter(({ repair }) => typeof repair === 'string');
    throwIfProblem(hidden ?? described(lasting, db, program));
    // Before, because a refusal should change nothing, and again for what came before its validator.
    if (from === undefined) await refuseInvalidDocuments(db);
    for (const { repair } of problems) if (typeof repair === 'function') await repair(db);
    if (from === undefined) await refuseInvalidDocuments(db);
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
