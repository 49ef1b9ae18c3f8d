import { setImmediate as turn } from 'node:timers/promises';
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
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';

const TIMEOUT_MS = 250;
const UNAVAILABLE = { kind: 'storage-unavailable' };
const LATE = { ...UNAVAILABLE, message: `MongoDB did not complete the call within ${TIMEOUT_MS} ms` };
const HOUR = 3_600;
const TEN = { requests: 10, seconds: HOUR };
/** The clock of the server goes on. */
const REST = expect.toSatisfy((reset: number) => reset > HOUR / 2 && reset <= HOUR);
const REFUSED = { allowed: false, remaining: 0, resetSeconds: REST };

const emptyDatabase = databasePool(() => mongo!);

async function open(url: string) {
  const opened = await openClient(url);
  return { limiter: new MongoRateLimiter(opened.client.db()), ...opened };
}

describe.skipIf(mongo === undefined)(`a rate limiter in MongoDB${leftOut}`, () => {
  let clock: FakeClock;
  // No command is late and no window ends, however slow the machine.
  beforeEach(() => {
    clock = fakeClock('setTimeout', 'clearTimeout');
  });

  it('sends one command per request, which waits for no other member, and no command in an exhausted window', async () => {
    const { url } = await emptyDatabase();
    const [one, other] = [await open(withOptions(url, { w: 'majority', journal: true })), await open(url)];
    const limit = { requests: 2, seconds: HOUR };

    await one.limiter.take('tom', limit);
    await one.limiter.take('tom', limit);
    for (let n = 0; n < 3; n++) expect(await one.limiter.take('tom', limit)).toStrictEqual(REFUSED);
    // Another limiter asks once, then knows that the window is exhausted.
    for (let n = 0; n < 3; n++) expect(await other.limiter.take('tom', limit)).toStrictEqual(REFUSED);

    expect(one.commands.map(({ commandName }) => commandName)).toStrictEqual([
      'findAndModify',
      'findAndModify',
    ]);
    expect(other.commands.map(({ commandName }) => commandName)).toStrictEqual(['findAndModify']);
    for (const { command } of one.commands) expect(command['writeConcern']).toStrictEqual({ w: 1, j: false });
  });

  it('stores a count as one document with its key, its requests and the end of its window', async () => {
    const { url, db } = await emptyDatabase();
    const { limiter } = await open(url);

    const before = Date.now();
    await limiter.take('0123456789abcdef', { requests: 600, seconds: 60 });
    await limiter.take('0123456789abcdef', { requests: 600, seconds: 60 });
    const after = Date.now();

    const counts = await db
      .collection('rate_limits')
      .find({}, { projection: { _id: 0 } })
      .toArray();
    expect(counts).toStrictEqual([{ key: '600/60:0123456789abcdef', points: 2, expire: expect.any(Date) }]);
    const end = Number(counts[0]?.['expire']) - 60_000;
    expect(end).toBeGreaterThanOrEqual(before);
    expect(end).toBeLessThanOrEqual(after);
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
      .insertOne({ key: `1/${HOUR}:tom`, ...fieldsAt(Date.now()) }, { bypassDocumentValidation: true });

    const limit = { requests: 1, seconds: HOUR };
    const first = await limiter.take('tom', limit);
    expect(first).toStrictEqual({ allowed: true, remaining: 0, resetSeconds: HOUR });
    expect(await limiter.take('tom', limit)).toStrictEqual({ ...REFUSED, resetSeconds: HOUR });
    expect(await (await open(url)).limiter.take('tom', limit)).toStrictEqual(REFUSED);
  });

  it.each([
    ['an int', 5],
    ['a long', Long.fromNumber(5)],
  ])('continues a window that a later command has begun with %s', async (_, points) => {
    const { url, db } = await emptyDatabase();
    const { limiter } = await open(url);
    const expire = new Date(Date.now() + 1_000 * HOUR + 5_000);
    await db.collection('rate_limits').insertOne({ key: `100/${HOUR}:tom`, points, expire });

    expect(await limiter.take('tom', { requests: 100, seconds: HOUR })).toStrictEqual({
      allowed: true,
      remaining: 94,
      resetSeconds: REST,
    });
  });

  it('finds a count through its index', async () => {
    const { url, db } = await emptyDatabase();
    const { limiter, commands } = await open(url);
    for (let n = 0; n < 5; n++) await limiter.take(`key-${n}`, { requests: 5, seconds: HOUR });

    const { query, update } = commands.at(-1)!.command;
    const { executionStats, queryPlanner } = await db.command({
      explain: { findAndModify: 'rate_limits', query, update },
      verbosity: 'executionStats',
    });
    expect(executionStats).toMatchObject({ totalDocsExamined: 1, totalKeysExamined: 1 });
    expect(JSON.stringify(queryPlanner.winningPlan)).toMatch(/"indexName":"key_1"/);
  });

  /** A limiter whose first command has arrived. */
  async function proxied() {
    const { url } = await freshDatabase(mongo!);
    const { url: proxyUrl, proxy } = await throughProxy(url, { serverSelectionTimeoutMS: 1_000 });
    const opened = await open(proxyUrl);
    await opened.limiter.take('tom', TEN);
    return { ...opened, url, proxy };
  }

  it('admits at most the limit in each window while the server is gone', async () => {
    const { limiter, proxy } = await proxied();
    await proxy.close();

    await expect(late(limiter.take('tom', TEN))).rejects.toMatchObject(LATE);
    // Two have been admitted.
    expect(await burst(limiter, 1_500)).toStrictEqual([0, 8, 1_492]);
    const other = { requests: 10, seconds: 2 * HOUR };
    for (let window = 0; window < 2; window++) {
      expect(await late(burst(limiter, 1_500, other))).toStrictEqual([0, 10, 1_490]);
      clock.advance(2 * HOUR * 1_000);
    }
  });

  it('admits at most the limit, together with another limiter, while an answer is late', async () => {
    const { limiter, proxy, url, sent } = await proxied();
    for (let n = 0; n < 5; n++) await (await open(url)).limiter.take('tom', TEN);
    expect(await limiter.take('tom', TEN)).toMatchObject({ remaining: 3 });
    const held = proxy.hold('findAndModify');

    expect(await late(burst(limiter, 1))).toStrictEqual([0, 1, 0]);
    const release = await held;
    // Nothing is sent while an earlier command is still under way.
    expect(await burst(limiter, 1_500)).toStrictEqual([0, 2, 1_498]);
    expect(sent('findAndModify')).toBe(3);
    release();
    expect(await limiter.take('tom', TEN)).toStrictEqual(REFUSED);
  });

  it('counts alone while the validator refuses its documents, and adds this count later', async () => {
    const { url, db } = await freshDatabase(mongo!);
    const { limiter } = await open(url);
    const validate = (validator: Document) => db.command({ collMod: 'rate_limits', validator });
    await validate({ points: { $lt: 0 } });

    await expect(limiter.take('tom', TEN)).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: 'MongoDB could not count the request: DocumentValidationFailure (121)',
    });
    expect(await burst(limiter, 2)).toStrictEqual([0, 2, 0]);
    await validate({});
    expect(await burst(limiter, 1_500)).toStrictEqual([7, 0, 1_493]);
  });
});

const counted = { points: Long.fromNumber(3), leftMs: Long.fromNumber(1_500) };

it.each<readonly [string, Error, Error]>([
  [
    'reports a closed connection',
    new MongoNetworkError('reset'),
    new StorageUnavailable('MongoDB could not count the request: reset'),
  ],
  ['reports a bug', new TypeError('x is not a function'), new TypeError('x is not a function')],
])('a rate limiter rejects, without a second command, when the driver %s', async (_, failure, error) => {
  const findOneAndUpdate = vi.fn<() => Promise<Document>>().mockRejectedValueOnce(failure);
  const collection = () => ({ findOneAndUpdate: findOneAndUpdate.mockResolvedValue(counted) });
  const db = { databaseName: 'petstore', client: { db: () => ({ collection }) } } as unknown as Db;
  await expect(new MongoRateLimiter(db).take('tom', TEN)).rejects.toThrow(error);
});

/** Lets the deadline of a command pass. */
async function late<T>(outcome: Promise<T>): Promise<T> {
  await turn();
  vi.advanceTimersByTime(TIMEOUT_MS);
  return outcome;
}

/** How many of so many requests at once are within the limit, cannot be counted, and are refused. */
async function burst(limiter: RateLimiter, count: number, limit = TEN) {
  const outcomes = numbers(count).map(async () =>
    limiter.take('tom', limit).then(
      ({ allowed }) => (allowed ? 'within' : 'refused'),
      (error) => (error instanceof StorageUnavailable ? 'uncounted' : String(error)),
    ),
  );
  const kinds = await Promise.all(outcomes);
  return ['within', 'uncounted', 'refused'].map((kind) => kinds.filter((other) => other === kind).length);
}
