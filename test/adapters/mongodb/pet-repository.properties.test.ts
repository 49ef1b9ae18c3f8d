import { describe } from 'vitest';
import { openMongoArchive, openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { petRepositoryModel } from '../../contracts/pet-repository-model.ts';
import { databaseForRuns } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

describe.skipIf(mongo === undefined)(`MongoDB${leftOut}`, () => {
  const emptyDatabase = databaseForRuns(() => mongo!);

  petRepositoryModel(
    'mongodb',
    async () => {
      const { url } = await emptyDatabase();
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
    { runs: 8, processes: 'many' },
  );
});
