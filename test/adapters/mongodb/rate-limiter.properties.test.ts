import { describe } from 'vitest';
import { MongoRateLimiter } from '../../../src/adapters/mongodb/rate-limiter.ts';
import { rateLimiterModel } from '../../contracts/rate-limiter-model.ts';
import { databaseForRuns, openClient } from '../../support/mongo-database.ts';
import { mongo } from '../../support/shared-mongo.ts';

describe.skipIf(mongo === undefined)(`MongoDB${mongo === undefined ? ' (left out: no server)' : ''}`, () => {
  const emptyDatabase = databaseForRuns(() => mongo!);

  rateLimiterModel(
    'mongodb',
    async () => {
      const { url } = await emptyDatabase();
      const clients = [await openClient(url), await openClient(url)];
      return { limiters: clients.map(({ client }) => new MongoRateLimiter(client.db())) };
    },
    { runs: 8, hasClock: false },
  );
});
