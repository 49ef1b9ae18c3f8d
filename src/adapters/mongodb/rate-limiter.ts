import { type Collection, type Db, type Document, MongoError } from 'mongodb';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import { allowanceOf, type Allowance, type RateLimit } from '../../domain/rate-limit.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { Batcher } from './round-trips/batcher.ts';
import { describeError, toStorageError } from './connection/mongo-errors.ts';
import { withDeadline } from './connection/deadline.ts';
import { RATE_LIMITS, type RateLimitDocument } from './schema/collections.ts';

/** A request waits for at most two commands: half a second in total. */
const COMMAND_TIMEOUT_MS = 250;

/** Does not wait for a majority or a disk, because a lost count is harmless. */
const UNREPLICATED_WRITES = { writeConcern: { w: 1, journal: false } } as const;

type Window = {
  /** At least this many requests were made, whether MongoDB has counted them or not. */
  count: number;
  /** On the clock of `performance.now()`. */
  endMs: number;
  /** Present until the driver has finished the command. Rejects at the deadline. */
  pendingCommand?: Promise<Document> | undefined;
  readonly batcher: Batcher<void, void>;
};

/**
 * Requests share one command at a time per key and limit: see
 * docs/explanation/a-write-on-mongodb.md#2-two-steps-of-the-http-part-that-reach-mongodb.
 */
export class MongoRateLimiter implements RateLimiter {
  readonly #counts: Collection<RateLimitDocument>;
  /** One window per key and limit. Only valid API keys arrive here, so the map stays small. */
  readonly #windows = new Map<string, Window>();

  constructor(db: Db) {
    this.#counts = db.client.db(db.databaseName, UNREPLICATED_WRITES).collection(RATE_LIMITS);
  }

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    const { requests, seconds } = limit;
    const windowMs = seconds * 1_000;
    const window = this.#windowOf(`${requests}/${seconds}:${keyId}`, windowMs);
    // An exhausted window needs no round trip.
    if (window.count < requests || window.endMs <= performance.now()) {
      try {
        await window.batcher.add();
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error;
        const nowMs = performance.now();
        if (window.endMs <= nowMs) Object.assign(window, { count: 0, endMs: nowMs + windowMs });
        // The caller lets the request pass, but the limit stays in force during an outage.
        if (window.count++ < requests) throw error;
      }
    }
    return allowanceOf(limit, { count: ++window.count, leftMs: window.endMs - performance.now() });
  }

  #windowOf(key: string, windowMs: number): Window {
    return this.#windows.getOrInsertComputed(key, () => {
      const countRequests = ({ length }: readonly void[]) => this.#count(key, windowMs, window, length);
      const batcher = new Batcher(countRequests, { maxWaitMs: Infinity, maxCalls: Infinity });
      const window: Window = { count: 0, endMs: -Infinity, batcher };
      return window;
    });
  }

  /** Sets `window.count` without these requests, because `take` adds each of them. */
  async #count(key: string, windowMs: number, window: Window, requests: number): Promise<void> {
    await window.pendingCommand;
    const command = this.#send(key, windowMs, requests);
    const limitedCommand = withDeadline(COMMAND_TIMEOUT_MS, () => command);
    window.pendingCommand = limitedCommand;
    const removePending = () => void (window.pendingCommand = undefined);
    command.then(removePending, removePending);
    const { points, leftMs } = await limitedCommand;
    const endMs = performance.now() + Number(leftMs);
    // A new window ends at least `windowMs` after the old one. The two clocks differ by far less.
    if (endMs - window.endMs > windowMs / 2) window.count = 0;
    window.count = Math.max(window.count, Number(points) - requests);
    window.endMs = endMs;
  }

  async #send(key: string, windowMs: number, requests: number): Promise<Document> {
    const update = countingUpdate(windowMs, requests);
    const options = { upsert: true, returnDocument: 'after', projection: WINDOW_STATE } as const;
    try {
      // Not retried, because the failed attempt may have counted the requests.
      const document = await this.#counts.findOneAndUpdate({ key }, update, options);
      // With `upsert`, MongoDB always returns a document.
      return document!;
    } catch (error) {
      if (!(error instanceof MongoError)) throw toStorageError(error);
      throw new StorageUnavailable(`MongoDB could not count the request: ${describeError(error)}`);
    }
  }
}

const WINDOW_STATE = { _id: 0, points: 1, leftMs: { $subtract: ['$expire', '$$NOW'] } } as const;

/** Concurrent commands may run in another order than their times (`$$NOW`), which differ by less than this. */
const CLOCK_SLACK_MS = 10_000;

/** Counts in the current window. Begins a new window if the current one has ended or is invalid. */
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
