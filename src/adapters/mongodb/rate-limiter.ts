import { type Collection, type Db, type Document, MongoError } from 'mongodb';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { Allowance, RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../domain/api-key.ts';
import { Deadline } from './deadline.ts';
import { duplicateField, translated } from './errors.ts';
import { RATE_LIMITS, type RateLimitDocument } from './schema.ts';

const DEADLINE_MS = 500;

// A count that a failover loses does no harm; a client that waits for a majority or for a disk does.
const QUICK = { writeConcern: { w: 1, journal: false } } as const;

/** `points` as they are now, this request included, and how many milliseconds the window still has. */
type Count = { readonly points: number; readonly leftMs: number };

/** Counts that every service on the database shares. Windows begin and end by the clock of the database alone. */
export class MongoRateLimiter implements RateLimiter {
  readonly #counts: Collection<RateLimitDocument>;
  // When the window ends that a key has used up, on the clock of `performance.now()`: until then it is refused without
  // a round trip. One for each key and limit.
  readonly #usedUp = new Map<string, number>();

  constructor(db: Db) {
    this.#counts = db.client.db(db.databaseName, QUICK).collection(RATE_LIMITS);
  }

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    const { requests, seconds } = limit;
    const key = `${requests}/${seconds}:${keyId}`;
    const leftMs = (this.#usedUp.get(key) ?? 0) - performance.now();
    if (leftMs > 0) return allowance(limit, { points: requests + 1, leftMs });
    try {
      // Once: an attempt that has failed may have counted, and what the driver itself tries again counts once.
      const count = await new Deadline(DEADLINE_MS).bound(this.#count(key, seconds * 1_000));
      if (count.points >= requests) this.#usedUp.set(key, performance.now() + count.leftMs);
      return allowance(limit, count);
    } catch (error) {
      const failure = translated(error);
      if (failure instanceof StorageUnavailable || !(failure instanceof MongoError)) throw failure;
      throw new StorageUnavailable(`MongoDB does not count: ${failure.message}`, { cause: error });
    }
  }

  async #count(key: string, windowMs: number): Promise<Count> {
    const options = { upsert: true, returnDocument: 'after', projection: LEFT } as const;
    const count = async () => this.#counts.findOneAndUpdate({ key }, counting(windowMs), options);
    // Another request may have begun the window at the same moment.
    const counted: Document | null = await count().catch((error: unknown) => {
      if (duplicateField(error) !== 'key') throw error;
      return count();
    });
    if (counted === null) throw new StorageUnavailable('MongoDB has not counted');
    return { points: Number(counted['points']), leftMs: Number(counted['leftMs']) };
  }
}

const LEFT = { _id: 0, points: 1, leftMs: { $subtract: ['$expire', '$$NOW'] } } as const;

/**
 * By how much the clock of a request may be behind that of the request that began the window, in milliseconds: the
 * server sets `$$NOW` when a command begins, and commands at the same time may be carried out in another order.
 */
const CLOCK_SLACK_MS = 10_000;

/**
 * Counts on while the window lasts, else begins one. A window that would last longer than one can, because the clock was
 * set back, is over. A window whose fields make no sense is none: a date is greater than what comes before dates in the
 * order of types, https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
function counting(windowMs: number): Document[] {
  const end = { $add: ['$$NOW', windowMs] };
  const lasts = {
    $and: [
      { $in: [{ $type: '$points' }, ['int', 'long']] },
      { $gt: ['$expire', '$$NOW'] },
      { $lte: ['$expire', { $add: [end, CLOCK_SLACK_MS] }] },
    ],
  };
  return [
    {
      $set: {
        points: { $cond: [lasts, { $add: ['$points', 1] }, 1] },
        expire: { $cond: [lasts, '$expire', end] },
      },
    },
  ];
}

function allowance({ requests, seconds }: RateLimit, { points, leftMs }: Count): Allowance {
  return {
    allowed: points <= requests,
    remaining: Math.max(0, requests - points),
    resetSeconds: Math.min(seconds, Math.max(1, Math.ceil(leftMs / 1_000))),
  };
}
