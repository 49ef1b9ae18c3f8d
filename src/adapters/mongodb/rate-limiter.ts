import { type Db, MongoError } from 'mongodb';
import { RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import { StorageUnavailable } from '../../application/errors.ts';
import type { Allowance, RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../domain/api-key.ts';
import { Deadline } from './deadline.ts';
import { translated } from './errors.ts';
import { RATE_LIMITS } from './schema.ts';

const DEADLINE_MS = 500;

// A count that a failover loses does no harm; a client that waits for a majority or for a disk does.
const QUICK = { writeConcern: { w: 1, journal: false } } as const;

/**
 * Counts that every service on the database shares. When a window ends is said by the clock of the service that
 * began it, so their clocks must agree better than a window is long.
 */
export class MongoRateLimiter implements RateLimiter {
  readonly #db: Db;
  // As many as there are different limits, which is at most one for each key.
  readonly #limiters = new Map<string, RateLimiterMongo>();

  constructor(db: Db) {
    this.#db = db.client.db(db.databaseName, QUICK);
  }

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    try {
      // Once: an attempt that has failed may have counted, and what the driver itself tries again counts once.
      const counted = await new Deadline(DEADLINE_MS).bound(this.#limiter(limit).consume(keyId));
      return allowance(true, counted);
    } catch (error) {
      // How the library says that the limit is passed.
      if (error instanceof RateLimiterRes) return allowance(false, error);
      const failure = translated(error);
      if (failure instanceof StorageUnavailable || !(failure instanceof MongoError)) throw failure;
      throw new StorageUnavailable(`MongoDB does not count: ${failure.message}`, { cause: error });
    }
  }

  #limiter({ requests, seconds }: RateLimit): RateLimiterMongo {
    const name = `${requests}/${seconds}`;
    const known = this.#limiters.get(name);
    if (known !== undefined) return known;
    const limiter = new RateLimiterMongo({
      storeClient: this.#db,
      tableName: RATE_LIMITS,
      disableIndexesCreation: true,
      keyPrefix: name,
      points: requests,
      duration: seconds,
      // A key that has used up its window is refused without a round trip until the window ends.
      inMemoryBlockOnConsumed: requests,
    });
    this.#limiters.set(name, limiter);
    return limiter;
  }
}

function allowance(allowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Allowance {
  return {
    allowed,
    remaining: remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1_000)),
  };
}
