import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Db, type Document, Long, MongoNetworkError } from 'mongodb';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MongoRateLimiter } from '../../../src/adapters/mongodb/rate-limiter.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { RateLimiter } from '../../../src/application/ports/rate-limiter.ts';
import { type FakeClock, fakeClock } from '../../support/fake-clock.ts';
import {
  databasePool,
  freshDatabase,
  openClient,
  throughProxy,
  withOptions,
} from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';

const TIMEOUT_MS = 250;
const UNAVAILABLE = { kind: 'storage-unavailable' };
const LATE = { ...UNAVAILABLE, message: `MongoDB did not complete the call within ${TIMEOUT_MS} ms` };
const HOUR_SECONDS = 3_600;
const TEN_PER_HOUR = { requests: 10, seconds: HOUR_SECONDS };
/** The time that is left in a window of an hour. It is not exact, because the clock of the server is real. */
const SECONDS_LEFT = expect.toSatisfy((reset: number) => reset > HOUR_SECONDS / 2 && reset <= HOUR_SECONDS);
const REFUSED = { allowed: false, remaining: 0, resetSeconds: SECONDS_LEFT };

const emptyDatabase = databasePool(() => mongo!);

async function open(url: string) {
  const connection = await openClient(url);
  return { limiter: new MongoRateLimiter(connection.client.db()), ...connection };
}

describe.skipIf(mongo === undefined)(`a rate limiter in MongoDB${noMongo}`, () => {
  let clock: FakeClock;
  // The clock of the limiter stands still, so no command is late and no window ends, even on a slow machine.
  beforeEach(() => {
    clock = fakeClock('setTimeout', 'clearTimeout');
  });

  it('sends one command per request, which waits for no other member of the replica set, until the window is exhausted', async () => {
    const { url } = await emptyDatabase();
    const [first, second] = [await open(withOptions(url, { w: 'majority', journal: true })), await open(url)];
    const limit = { requests: 2, seconds: HOUR_SECONDS };

    await first.limiter.take('tom', limit);
    await first.limiter.take('tom', limit);
    for (let n = 0; n < 3; n++) expect(await first.limiter.take('tom', limit)).toStrictEqual(REFUSED);
    // The second limiter sends one command, and its reply shows that the window is exhausted.
    for (let n = 0; n < 3; n++) expect(await second.limiter.take('tom', limit)).toStrictEqual(REFUSED);

    expect(first.commands.map(({ commandName }) => commandName)).toStrictEqual([
      'findAndModify',
      'findAndModify',
    ]);
    expect(second.commands.map(({ commandName }) => commandName)).toStrictEqual(['findAndModify']);
    for (const { command } of first.commands)
      expect(command['writeConcern']).toStrictEqual({ w: 1, j: false });
  });

  it('stores one document per limit and key, with the number of requests and the end of the window', async () => {
    const { url, db } = await emptyDatabase();
    const { limiter } = await open(url);

    const beforeMs = Date.now();
    await limiter.take('0123456789abcdef', { requests: 600, seconds: 60 });
    await limiter.take('0123456789abcdef', { requests: 600, seconds: 60 });
    const afterMs = Date.now();

    const counts = await db
      .collection('rate_limits')
      .find({}, { projection: { _id: 0 } })
      .toArray();
    expect(counts).toStrictEqual([{ key: '600/60:0123456789abcdef', points: 2, expire: expect.any(Date) }]);
    const beganMs = Number(counts[0]?.['expire']) - 60_000;
    expect(beganMs).toBeGreaterThanOrEqual(beforeMs);
    expect(beganMs).toBeLessThanOrEqual(afterMs);
  });

  it.each<readonly [string, (now: number) => object]>([
    ['ends too far in the future', (now) => ({ points: 1, expire: new Date(now + 7_211_000) })],
    ['has no end', () => ({ points: 1, expire: null })],
    ['has a string for its end', () => ({ points: 1, expire: 'tomorrow' })],
    ['has no count', (now) => ({ expire: new Date(now + 5_000) })],
    ['has a string for its count', (now) => ({ points: 'many', expire: new Date(now + 5_000) })],
  ])('replaces a window that %s', async (_, fieldsAt) => {
    const { url, db } = await emptyDatabase();
    const { limiter } = await open(url);
    await db
      .collection('rate_limits')
      .insertOne(
        { key: `1/${HOUR_SECONDS}:tom`, ...fieldsAt(Date.now()) },
        { bypassDocumentValidation: true },
      );

    const limit = { requests: 1, seconds: HOUR_SECONDS };
    const first = await limiter.take('tom', limit);
    expect(first).toStrictEqual({ allowed: true, remaining: 0, resetSeconds: HOUR_SECONDS });
    expect(await limiter.take('tom', limit)).toStrictEqual({ ...REFUSED, resetSeconds: HOUR_SECONDS });
    expect(await (await open(url)).limiter.take('tom', limit)).toStrictEqual(REFUSED);
  });

  it.each([
    ['an int', 5],
    ['a long', Long.fromNumber(5)],
  ])('continues a window that begins 5 s in the future, and whose count is %s', async (_, points) => {
    const { url, db } = await emptyDatabase();
    const { limiter } = await open(url);
    // A concurrent command with a later server time can have begun the window.
    const expire = new Date(Date.now() + 1_000 * HOUR_SECONDS + 5_000);
    await db.collection('rate_limits').insertOne({ key: `100/${HOUR_SECONDS}:tom`, points, expire });

    expect(await limiter.take('tom', { requests: 100, seconds: HOUR_SECONDS })).toStrictEqual({
      allowed: true,
      remaining: 94,
      resetSeconds: SECONDS_LEFT,
    });
  });

  it('finds a count through the index of the counts', async () => {
    const { url, db } = await emptyDatabase();
    const { limiter, commands } = await open(url);
    for (let n = 0; n < 5; n++) await limiter.take(`key-${n}`, { requests: 5, seconds: HOUR_SECONDS });

    const { query, update } = commands.at(-1)!.command;
    const { executionStats, queryPlanner } = await db.command({
      explain: { findAndModify: 'rate_limits', query, update },
      verbosity: 'executionStats',
    });
    expect(executionStats).toMatchObject({ totalDocsExamined: 1, totalKeysExamined: 1 });
    expect(JSON.stringify(queryPlanner.winningPlan)).toMatch(/"indexName":"key_1"/);
  });

  /** Opens a limiter that reaches MongoDB through a proxy, and that has counted one request. */
  async function openThroughProxy() {
    const { url } = await freshDatabase(mongo!);
    const { url: proxyUrl, proxy } = await throughProxy(url, { serverSelectionTimeoutMS: 1_000 });
    const connection = await open(proxyUrl);
    await connection.limiter.take('tom', TEN_PER_HOUR);
    return { ...connection, url, proxy };
  }

  it('allows at most the limit in each window while the server cannot be reached', async () => {
    const { limiter, proxy } = await openThroughProxy();
    await proxy.close();

    await expect(passDeadline(limiter.take('tom', TEN_PER_HOUR))).rejects.toMatchObject(LATE);
    // The first request and the late request belong to the same window, so 8 of 10 requests are left.
    expect(await burst(limiter, 1_500)).toStrictEqual([0, 8, 1_492]);
    const otherLimit = { requests: 10, seconds: 2 * HOUR_SECONDS };
    for (let window = 0; window < 2; window++) {
      expect(await passDeadline(burst(limiter, 1_500, otherLimit))).toStrictEqual([0, 10, 1_490]);
      clock.advance(2 * HOUR_SECONDS * 1_000);
    }
  });

  it('allows, together with other limiters, at most the limit while a reply is late', async () => {
    const { limiter, proxy, url, sent } = await openThroughProxy();
    for (let n = 0; n < 5; n++) await (await open(url)).limiter.take('tom', TEN_PER_HOUR);
    expect(await limiter.take('tom', TEN_PER_HOUR)).toMatchObject({ remaining: 3 });
    const heldCommand = proxy.hold('findAndModify');

    expect(await passDeadline(burst(limiter, 1))).toStrictEqual([0, 1, 0]);
    const forwardCommand = await heldCommand;
    // The limiter sends no command while an earlier command has no reply.
    expect(await burst(limiter, 1_500)).toStrictEqual([0, 2, 1_498]);
    expect(sent('findAndModify')).toBe(3);
    forwardCommand();
    expect(await limiter.take('tom', TEN_PER_HOUR)).toStrictEqual(REFUSED);
  });

  it('counts in memory while the validator of MongoDB refuses the documents, and later adds this count to the stored count', async () => {
    const { url, db } = await freshDatabase(mongo!);
    const { limiter } = await open(url);
    const validate = (validator: Document) => db.command({ collMod: 'rate_limits', validator });
    await validate({ points: { $lt: 0 } });

    await expect(limiter.take('tom', TEN_PER_HOUR)).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: 'MongoDB could not count the request: DocumentValidationFailure (121)',
    });
    expect(await burst(limiter, 2)).toStrictEqual([0, 2, 0]);
    await validate({});
    expect(await burst(limiter, 1_500)).toStrictEqual([7, 0, 1_493]);
  });
});

const storedCount = { points: Long.fromNumber(3), leftMs: Long.fromNumber(1_500) };

it.each<readonly [string, Error, Error]>([
  [
    'reports a closed connection',
    new MongoNetworkError('reset'),
    new StorageUnavailable('MongoDB could not count the request: reset'),
  ],
  ['reports a bug', new TypeError('x is not a function'), new TypeError('x is not a function')],
])('a MongoDB rate limiter rejects after one command when the driver %s', async (_, failure, error) => {
  const findOneAndUpdate = vi.fn<() => Promise<Document>>().mockRejectedValueOnce(failure);
  const collection = () => ({ findOneAndUpdate: findOneAndUpdate.mockResolvedValue(storedCount) });
  const db = { databaseName: 'petstore', client: { db: () => ({ collection }) } } as unknown as Db;
  await expect(new MongoRateLimiter(db).take('tom', TEN_PER_HOUR)).rejects.toThrow(error);
});

/** Waits for the outcome after the deadline of a command has passed. */
async function passDeadline<T>(outcome: Promise<T>): Promise<T> {
  await nextTurn();
  vi.advanceTimersByTime(TIMEOUT_MS);
  return outcome;
}

/**
 * Makes `count` requests at the same time. Returns how many of them are within the limit, how many are allowed because
 * they cannot be counted, and how many are refused.
 */
async function burst(limiter: RateLimiter, count: number, limit = TEN_PER_HOUR) {
  const outcomes = numbers(count).map(async () =>
    limiter.take('tom', limit).then(
      ({ allowed }) => (allowed ? 'within' : 'refused'),
      (error) => (error instanceof StorageUnavailable ? 'uncounted' : String(error)),
    ),
  );
  const kinds = await Promise.all(outcomes);
  return ['within', 'uncounted', 'refused'].map((kind) => kinds.filter((each) => each === kind).length);
}
