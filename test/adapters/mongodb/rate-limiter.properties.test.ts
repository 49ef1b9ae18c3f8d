import { beforeEach, describe } from 'vitest';
import { MongoRateLimiter } from '../../../src/adapters/mongodb/rate-limiter.ts';
import { rateLimiterModel } from '../../contracts/rate-limiter-model.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { databaseForRuns, openClient } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

describe.skipIf(mongo === undefined)(`MongoDB${leftOut}`, () => {
  const emptyDatabase = databaseForRuns(() => mongo!);
  // No command is late.
  beforeEach(() => void fakeClock('setTimeout', 'clearTimeout'));

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
