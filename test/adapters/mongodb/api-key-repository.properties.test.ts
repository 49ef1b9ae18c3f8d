import { describe } from 'vitest';
import { openMongoArchive } from '../../../src/adapters/mongodb/open.ts';
import { apiKeyRepositoryModel } from '../../contracts/api-key-repository-model.ts';
import { databaseForRuns } from '../../support/mongo-database.ts';
import { sharedMongo } from '../../support/mongodb.ts';

const mongo = await sharedMongo();

describe.skipIf(mongo === undefined)(`MongoDB${mongo === undefined ? ' (left out: no server)' : ''}`, () => {
  const emptyDatabase = databaseForRuns(() => mongo!);

  apiKeyRepositoryModel(
    'mongodb',
    async () => {
      const { url } = await emptyDatabase();
      return { open: () => openMongoArchive(url) };
    },
    { runs: 8, processes: 'many' },
  );
});
