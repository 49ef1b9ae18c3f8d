import { type Collection, type Db, type Document, MongoError } from 'mongodb';
import { allowanceOf, type WindowState } from '../../application/keys/allowance.ts';
import type { Allowance, RateLimiter } from '../../application/ports/rate-limiter.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { RateLimit } from '../../domain/api-key.ts';
import { withDeadline } from './connection/deadline.ts';
import { duplicateField, toStorageError } from './connection/mongo-errors.ts';
import { RATE_LIMITS, type RateLimitDocument } from './schema/collections.ts';

const CALL_TIMEOUT_MS = 500;

/** Losing a count in a failover is harmless. Making every request wait for a majority or a disk is not. */
const UNREPLICATED = { writeConcern: { w: 1, journal: false } } as const;

/** Counts shared by every service on the database. Windows begin and end by the database's clock alone. */
export class MongoRateLimiter implements RateLimiter {
  readonly #counts: Collection<RateLimitDocument>;
  // By key and limit: the end of an exhausted window, in milliseconds of `performance.now()`. Until then, a request is
  // refused without a round trip.
  readonly #exhaustedUntil = new Map<string, number>();

  constructor(db: Db) {
    this.#counts = db.client.db(db.databaseName, UNREPLICATED).collection(RATE_LIMITS);
  }

  /** @throws {StorageUnavailable} within 500 ms, if the request cannot be counted */
  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    const { requests, seconds } = limit;
    const key = `${requests}/${seconds}:${keyId}`;
    const leftMs = (this.#exhaustedUntil.get(key) ?? 0) - performance.now();
    if (leftMs > 0) return allowanceOf(limit, { count: requests + 1, leftMs });
    try {
      // No retry here: a failed attempt may have counted. The server counts a retry of the driver once.
      const window = await withDeadline(CALL_TIMEOUT_MS, () => this.#count(key, seconds * 1_000));
      if (window.count >= requests) this.#exhaustedUntil.set(key, performance.now() + window.leftMs);
      return allowanceOf(limit, window);
    } catch (error) {
      const failure = toStorageError(error);
      if (failure instanceof StorageUnavailable || !(failure instanceof MongoError)) throw failure;
      throw new StorageUnavailable(`MongoDB could not count the request: ${failure.message}`, {
        cause: error,
      });
    }
  }

  async #count(key: string, windowMs: number): Promise<WindowState> {
    const options = { upsert: true, returnDocument: 'after', projection: WINDOW_STATE } as const;
    const count = async () => this.#counts.findOneAndUpdate({ key }, countingUpdate(windowMs), options);
    // Another request may have created the document at the same time.
    const counted: Document | null = await count().catch((error: unknown) => {
      if (duplicateField(error) !== 'key') throw error;
      return count();
    });
    if (counted === null) throw new StorageUnavailable('MongoDB returned no count');
    return { count: Number(counted['points']), leftMs: Number(counted['leftMs']) };
  }
}

const WINDOW_STATE = { _id: 0, points: 1, leftMs: { $subtract: ['$expire', '$$NOW'] } } as const;

/**
 * How far the clock of a request may be behind that of the request that began the window. The server sets `$$NOW` when
 * a command begins, and concurrent commands can run in another order.
 */
const CLOCK_SLACK_MS = 10_000;

/**
 * Counts in the current window, or begins a new one if it has ended or is invalid. A window that ends too far in the
 * future is invalid: the clock was set back. So is one whose `expire` is not a date: any other type sorts before or
 * after all dates, https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
function countingUpdate(windowMs: number): Document[] {
  const end = { $add: ['$$NOW', windowMs] };
  const isCurrent = {
    $and: [
      { $in: [{ $type: '$points' }, ['int', 'long']] },
      { $gt: ['$expire', '$$NOW'] },
      { $lte: ['$expire', { $add: [end, CLOCK_SLACK_MS] }] },
    ],
  };
  return [
    {
      $set: {
        points: { $cond: [isCurrent, { $add: ['$points', 1] }, 1] },
        expire: { $cond: [isCurrent, '$expire', end] },
      },
    },
  ];
}
