import { describe } from 'vitest';
import { InMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import { MongoRateLimiter } from '../../src/adapters/mongodb/rate-limiter.ts';
import { databasePool, openClient } from '../support/mongo-database.ts';
import { noMongo, mongo } from '../support/shared-mongo.ts';
import { rateLimiterModel } from './rate-limiter-model.ts';
import { rateLimiterContract } from './rate-limiter.ts';

describe('RateLimiter: memory', () => {
  rateLimiterContract(async () => ({ limiter: new InMemoryRateLimiter() }));
  rateLimiterModel({
    async create() {
      let nowMs = 0;
      const limiters = [new InMemoryRateLimiter(() => nowMs)];
      return { limiters, advance: (ms) => void (nowMs += ms) };
    },
    runs: 40,
    hasClock: true,
  });
});

describe.skipIf(mongo === undefined)(`RateLimiter: MongoDB${noMongo}`, () => {
  const emptyDatabase = databasePool(() => mongo!);

  rateLimiterContract(async () => {
    const { url, db } = await emptyDatabase();
    const { client } = await openClient(url);
    const age = (ms: number) =>
      db.collection('rate_limits').updateMany({}, [{ $set: { expire: { $subtract: ['$expire', ms] } } }]);
    return { limiter: new MongoRateLimiter(client.db()), age };
  });
  rateLimiterModel({
    async create() {
      const { url } = await emptyDatabase();
      const clients = [await openClient(url), await openClient(url)];
      return { limiters: clients.map(({ client }) => new MongoRateLimiter(client.db())) };
    },
    runs: 5,
    hasClock: false,
  });
});
