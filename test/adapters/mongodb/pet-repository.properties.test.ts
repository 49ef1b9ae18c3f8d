import { describe, onTestFinished } from 'vitest';
import { openMongoArchive, openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { petRepositoryModel } from '../../contracts/pet-repository-model.ts';
import { emptied, freshDatabase, type TestDatabase } from '../../support/mongo-database.ts';
import { sharedMongo } from '../../support/mongodb.ts';

const mongo = await sharedMongo();

describe.skipIf(mongo === undefined)(`MongoDB${mongo === undefined ? ' (left out: no server)' : ''}`, () => {
  let database: TestDatabase | undefined;

  petRepositoryModel(
    'mongodb',
    async () => {
      database ??= await freshDatabase(mongo!);
      onTestFinished(() => (database = undefined));
      const { url } = await emptied(database);
      return {
        async open() {
          const storage = await openMongoStorage(url, { autoMigrate: false });
          const { archive, close } = await openMongoArchive(url);
          return {
            pets: storage.pets,
            archive,
            async close() {
              await close();
              await storage.close();
            },
          };
        },
      };
    },
    { runs: 10, processes: 'many' },
  );
});
