import { type Collection, type Db, type Document, MongoError } from 'mongodb';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import { allowanceOf, type Allowance, type RateLimit } from '../../domain/rate-limit.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { Batcher } from './round-trips/batcher.ts';
import { described, toStorageError } from './connection/mongo-errors.ts';
import { withDeadline } from './connection/deadline.ts';
import { RATE_LIMITS, type RateLimitDocument } from './schema/collections.ts';

/** A request waits for two commands at most, the one under way and its own: half a second in all. */
const COMMAND_TIMEOUT_MS = 250;

/** Losing a count in a failover is harmless. Making every request wait for a majority or a disk is not. */
const UNREPLICATED = { writeConcern: { w: 1, journal: false } } as const;

/** What this process knows of the current window of a key and limit. */
type Known = {
  /** How many requests it has had at least, whether MongoDB has counted them or not. */
  count: number;
  /** When it ends, in milliseconds of `performance.now()`. */
  endMs: number;
  /** The outcome of a command, until the driver is done with it. Rejects at the deadline. */
  underWay?: Promise<Document> | undefined;
  /** Resolves when a command has counted the request. */
  readonly counts: Batcher<void, void>;
};

/**
 * Counts shared by every service on the database. Windows begin and end by the database's clock alone.
 *
 * A service sends one command at a time for a key and limit. Requests that come meanwhile share the next one. While one
 * is late, they share its failure. So a client that sends much does not slow its own counts down.
 */
export class MongoRateLimiter implements RateLimiter {
  readonly #counts: Collection<RateLimitDocument>;
  /** By key and limit. Only valid API keys get here, so there are never more than were created. */
  readonly #known = new Map<string, Known>();

  constructor(db: Db) {
    this.#counts = db.client.db(db.databaseName, UNREPLICATED).collection(RATE_LIMITS);
  }

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    const { requests, seconds } = limit;
    const windowMs = seconds * 1_000;
    const known = this.#knownOf(`${requests}/${seconds}:${keyId}`, windowMs);
    // An exhausted window needs no round trip.
    if (known.count < requests || known.endMs <= performance.now()) {
      try {
        await known.counts.add();
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error;
        const nowMs = performance.now();
        if (known.endMs <= nowMs) Object.assign(known, { count: 0, endMs: nowMs + windowMs });
        // The caller lets this request pass. It counts here, so an outage does not lift the limit.
        if (known.count++ < requests) throw error;
      }
    }
    return allowanceOf(limit, { count: ++known.count, leftMs: known.endMs - performance.now() });
  }

  #knownOf(key: string, windowMs: number): Known {
    return this.#known.getOrInsertComputed(key, () => {
      const count = ({ length }: readonly void[]) => this.#count(key, windowMs, known, length);
      const counts = new Batcher(count, { maxWaitMs: Infinity, maxCalls: Infinity });
      const known: Known = { count: 0, endMs: -Infinity, counts };
      return known;
    });
  }

  /** Afterwards `known.count` lacks these requests: each adds itself. */
  async #count(key: string, windowMs: number, known: Known, requests: number): Promise<void> {
    await known.underWay;
    const command = this.#send(key, windowMs, requests);
    const inTime = withDeadline(COMMAND_TIMEOUT_MS, () => command);
    known.underWay = inTime;
    const release = () => void (known.underWay = undefined);
    command.then(release, release);
    const { points, leftMs } = await inTime;
    const endMs = performance.now() + Number(leftMs);
    // It ends at least a window later if it is another one. The two clocks differ by far less.
    if (endMs - known.endMs > windowMs / 2) known.count = 0;
    known.count = Math.max(known.count, Number(points) - requests);
    known.endMs = endMs;
  }

  async #send(key: string, windowMs: number, requests: number): Promise<Document> {
    const update = countingUpdate(windowMs, requests);
    const options = { upsert: true, returnDocument: 'after', projection: WINDOW_STATE } as const;
    try {
      // No retry: the attempt may have counted. The server counts a retry of the driver once, and by itself repeats an
      // upsert when another service has created the document at the same time (SERVER-37124).
      const counted = await this.#counts.findOneAndUpdate({ key }, update, options);
      // With `upsert`, there is always a document.
      return counted!;
    } catch (error) {
      if (!(error instanceof MongoError)) throw toStorageError(error);
      throw new StorageUnavailable(`MongoDB could not count the request: ${described(error)}`);
    }
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
function countingUpdate(windowMs: number, requests: number): Document[] {
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
        points: { $cond: [isCurrent, { $add: ['$points', requests] }, requests] },
        expire: { $cond: [isCurrent, '$expire', end] },
      },
    },
  ];
}
