import { describe } from 'vitest';
import { openMongoArchive } from '../../../src/adapters/mongodb/open.ts';
import { apiKeyRepositoryModel } from '../../contracts/api-key-repository-model.ts';
import { databaseForRuns } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

describe.skipIf(mongo === undefined)(`MongoDB${leftOut}`, () => {
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
