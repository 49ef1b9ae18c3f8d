import { describe } from 'vitest';
import { openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { idempotencyContract } from '../../contracts/idempotency.ts';
import { type PetStore, petRepositoryContract } from '../../contracts/pet-repository.ts';
import { databasePool, putFence } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const emptyDatabase = databasePool(() => mongo!);

describe.skipIf(mongo === undefined)(`MongoDB${leftOut}`, () => {
  petRepositoryContract('mongodb', open);
  idempotencyContract('mongodb', open);
});

async function open(lastId?: bigint): Promise<PetStore> {
  const { url, db } = await emptyDatabase();
  if (lastId !== undefined) await putFence(db, lastId);
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
    },
  };
}
