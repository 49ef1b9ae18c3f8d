import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { describe } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { idempotencyContract } from '../../contracts/idempotency.ts';
import { type PetStore, petRepositoryContract } from '../../contracts/pet-repository.ts';
import { sharedMongo } from '../../support/mongodb.ts';

const mongo = await sharedMongo();

describe.skipIf(mongo === undefined)(`MongoDB${mongo === undefined ? ' (left out: no server)' : ''}`, () => {
  petRepositoryContract('mongodb', open);
  idempotencyContract('mongodb', open);
});

async function open(lastId?: bigint): Promise<PetStore> {
  const url = mongo!.url(`test-${randomUUID()}`);
  await migrate(url);
  const admin = new MongoClient(url);
  if (lastId !== undefined) {
    await admin
      .db()
      .collection<{ _id: string }>('counters')
      .updateOne({ _id: 'pets' }, { $set: { last: lastId } });
  }
  const storages = [await openMongoStorage(url, { autoMigrate: false })];
  return {
    pets: storages[0]!.pets,
    async another() {
      const next = await openMongoStorage(url, { autoMigrate: false });
      storages.push(next);
      return next.pets;
    },
    async close() {
      for (const storage of storages) await storage.close();
      await admin.db().dropDatabase();
      await admin.close();
    },
  };
}
