import { setTimeout as sleep } from 'node:timers/promises';
import { BSON, type Db, type Document, MongoServerError } from 'mongodb';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { Migration } from '../../application/ports/storage.ts';
import { connect, setupError } from './connect.ts';
import { raiseCounter } from './id-allocator.ts';
import { makeIndexes } from './make-indexes.ts';
import {
  type CollectionPlan,
  COLLECTIONS,
  countersOf,
  petsOf,
  readVersion,
  SCHEMA_VERSION,
  versionProblem,
  versionsOf,
} from './schema.ts';

const NAMESPACE_EXISTS = 48;
const INDEX_BUILD_RUNNING = 12_587;

/** How often it is looked whether the indexes of another migration are ready. */
const PAUSE_MS = 200;

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
    for (const plan of COLLECTIONS) {
      await createCollection(db, plan);
      if ((from ?? 0) < plan.since) await refuseMisfits(db, plan);
      await makeIndexes(db, plan);
    }
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

async function createCollection(db: Db, { name, validator }: CollectionPlan): Promise<void> {
  try {
    await db.createCollection(name, { validator });
  } catch (error) {
    if (!hasCode(error, NAMESPACE_EXISTS)) throw error;
    await setValidator(db, name, validator);
  }
}

/** Waits while another migration makes indexes, which takes as long as it takes. */
async function setValidator(db: Db, name: string, validator: Document): Promise<void> {
  for (;;) {
    try {
      await db.command({ collMod: name, validator });
      return;
    } catch (error) {
      if (!hasCode(error, INDEX_BUILD_RUNNING)) throw error;
    }
    await sleep(PAUSE_MS);
  }
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof MongoServerError && error.code === code;
}

/** A validator says nothing about what was there before it. */
async function refuseMisfits(db: Db, { name, holds, validator }: CollectionPlan): Promise<void> {
  const misfit = await db.collection(name).findOne({ $nor: [validator] }, { projection: { _id: 1 } });
  if (misfit !== null) {
    throw new StorageSetupError(
      `the collection "${name}" of the database "${db.databaseName}" has a document that is no ${holds} ` +
        `(_id: ${BSON.EJSON.stringify(misfit._id)}); repair or remove it, then migrate again`,
    );
  }
}
