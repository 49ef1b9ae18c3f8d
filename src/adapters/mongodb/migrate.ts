import { BSON, type Db, MongoServerError } from 'mongodb';
import { StorageSetupError } from '../../application/errors.ts';
import { connect, setupError } from './connect.ts';
import { raiseCounter } from './id-allocator.ts';
import {
  countersOf,
  IDEMPOTENCY_INDEX,
  PET_VALIDATOR,
  petsOf,
  readVersion,
  SCHEMA_VERSION,
  STATUS_INDEX,
  versionProblem,
  versionsOf,
} from './schema.ts';

const NAMESPACE_EXISTS = 48;

/** `from` is `undefined` where there was no schema. */
export type Migration = { readonly database: string; readonly from: number | undefined; readonly to: number };

/**
 * Brings the database to the schema of this build, pets that are already there included. Every step may be done
 * again, and by two at the same time; the version comes last, so that whoever sees it sees the rest.
 *
 * @throws {StorageSetupError}
 */
export async function migrate(url: string): Promise<Migration> {
  // An index on many pets takes as long as it takes.
  const client = await connect(url, { socketTimeoutMS: 0, appName: 'petstore-migrate' });
  try {
    const db = client.db();
    const from = await readVersion(db);
    if (from !== undefined && from > SCHEMA_VERSION) {
      throw new StorageSetupError(versionProblem(from, db.databaseName) ?? '');
    }
    await createPets(db, { check: from === undefined });
    await createIndexes(db);
    await raiseCounter(countersOf(db), petsOf(db));
    await versionsOf(db).updateOne(
      { _id: 'petstore' },
      { $max: { version: SCHEMA_VERSION } },
      { upsert: true },
    );
    return { database: db.databaseName, from, to: SCHEMA_VERSION };
  } catch (error) {
    throw setupError(client, error);
  } finally {
    await client.close();
  }
}

async function createPets(db: Db, { check }: { check: boolean }): Promise<void> {
  const pets = petsOf(db);
  try {
    await db.createCollection(pets.collectionName, { validator: PET_VALIDATOR });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NAMESPACE_EXISTS) throw error;
    await db.command({ collMod: pets.collectionName, validator: PET_VALIDATOR });
  }
  if (!check) return;
  // A validator says nothing about what was there before it.
  const misfit = await pets.findOne({ $nor: [PET_VALIDATOR] }, { projection: { _id: 1 } });
  if (misfit !== null) {
    throw new StorageSetupError(
      `the collection "${pets.collectionName}" of the database "${db.databaseName}" has a document that is no pet ` +
        `(_id: ${BSON.EJSON.stringify(misfit._id)}); repair or remove it, then migrate again`,
    );
  }
}

async function createIndexes(db: Db): Promise<void> {
  const { setName } = await db.command({ hello: 1 });
  // A member that is down must not hold up an index. Only a replica set knows the option.
  const quorum = setName === undefined ? {} : { commitQuorum: 'majority' };
  for (const { key, name, options } of [STATUS_INDEX, IDEMPOTENCY_INDEX]) {
    await petsOf(db).createIndex(key, { name, ...options }, quorum);
  }
}
