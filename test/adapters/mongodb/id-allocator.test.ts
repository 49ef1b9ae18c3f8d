import { once } from 'node:events';
import { type Collection, Decimal128, type Document, Double, Int32, Long, MaxKey, MinKey } from 'mongodb';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Deadline } from '../../../src/adapters/mongodb/connection/deadline.ts';
import { IdAllocator } from '../../../src/adapters/mongodb/id-allocator.ts';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import type { CounterDocument, PetDocument } from '../../../src/adapters/mongodb/schema/collections.ts';
import { PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID, newPet } from '../../../src/domain/pet.ts';
import {
  addressOf,
  databasePool,
  freshDatabase,
  openRepository,
  throughPort,
} from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const there = { name: 'Tom', categoryId: 8n, status: 'sold' };

const emptyDatabase = databasePool(() => mongo!);

describe.skipIf(mongo === undefined)(`the counter of pet ids${leftOut}`, () => {
  it('is updated twice for 50 concurrent inserts', async () => {
    const { url, counters } = await emptyDatabase();
    const { repository, sent } = await openRepository(url);

    const stored = await Promise.all(Array.from({ length: 50 }, () => repository.insert(rex)));

    // The first insert starts an update at once. The others share the next one.
    expect(sent('findAndModify')).toBe(2);
    expect(sent('update')).toBe(0);
    expect(new Set(stored.map(({ id }) => id)).size).toBe(50);
    expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: 50n }]);
  });

  it('keeps no id for later: the next pet has the next id, whichever process adds it', async () => {
    const { url } = await emptyDatabase();
    const [one, other] = [await openRepository(url), await openRepository(url)];

    await Promise.all(Array.from({ length: 10 }, () => one.repository.insert(rex)));

    expect((await other.repository.insert(rex)).id).toBe(11n);
    expect((await one.repository.insert(rex)).id).toBe(12n);
  });

  it('is updated once for a single insert, without a read and without an upsert', async () => {
    const { url } = await emptyDatabase();
    const { repository, client, sent } = await openRepository(url);
    const upserts: unknown[] = [];
    client.on('commandStarted', ({ command }) => upserts.push(command['upsert']));

    await repository.insert(rex);

    expect([sent('findAndModify'), sent('insert'), sent('find'), sent('update')]).toStrictEqual([1, 1, 0, 0]);
    expect(upserts).not.toContain(true);
  });

  it('can be raised by an operator after a restore, as docs/storage.md shows', async () => {
    const { url, counters } = await emptyDatabase();
    const { repository } = await openRepository(url);
    await repository.insert(rex);

    await counters.updateOne({ _id: 'pets' }, { $inc: { last: Long.fromString('1000000000000') } });

    expect((await repository.insert(rex)).id).toBe(1_000_000_000_002n);
  });

  it('allocates no id for inserts that have timed out, and stores nothing for them', async () => {
    const { url, pets, counters } = await freshDatabase(mongo!);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const { repository, client } = await openRepository(throughPort(url, proxy.port), 1_000);
    const held = proxy.hold('findAndModify');
    const first = repository.insert(rex);
    const release = await held;
    const later = Array.from({ length: 49 }, () => repository.insert(rex));
    for (const outcome of await Promise.allSettled([first, ...later])) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageUnavailable) });
    }

    const answered = once(client, 'commandSucceeded');
    release();
    await answered;

    // Only the insert whose update was in flight has used up an id.
    expect((await repository.insert(newPet({ name: 'Tom', categoryId: 8n }))).id).toBe(2n);
    expect(await pets.find().toArray()).toMatchObject([{ _id: 2n, name: 'Tom' }]);
    expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: 2n }]);
  });

  describe('is repaired without using an id twice', () => {
    it.each([
      { ids: [], expected: 1n },
      { ids: [1n, 2n, 7n], expected: 8n },
    ])('when it is missing: $ids', async ({ ids, expected }) => {
      const { url, pets, counters } = await emptyDatabase();
      const { repository } = await openRepository(url);
      if (ids.length > 0) await pets.insertMany(ids.map((_id) => ({ _id, ...there })));
      await counters.deleteOne({ _id: 'pets' });

      const stored = await Promise.all([repository.insert(rex), repository.insert(rex)]);

      expect(stored.map(({ id }) => id)).toStrictEqual([expected, expected + 1n]);
      expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: expected + 1n }]);
      expect(await pets.countDocuments()).toBe(ids.length + 2);
    });

    it.each([
      ['a long', 3n],
      ['an int', new Int32(3)],
      ['a double', new Double(3)],
      ['a negative number', -5n],
    ])('when it is set back: %s', async (_, last) => {
      const { url, db, pets } = await emptyDatabase();
      // One connection: it answers all conflicts before it takes the next update of the counter.
      const { repository, sent } = await openRepository(url, undefined, { maxPoolSize: 1 });
      await pets.insertMany(Array.from({ length: 100 }, (__, n) => ({ _id: BigInt(n + 1), ...there })));
      await db.collection<{ _id: string }>('counters').updateOne({ _id: 'pets' }, { $set: { last } });

      const stored = await Promise.all(Array.from({ length: 20 }, () => repository.insert(rex)));

      expect(stored.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1))).toStrictEqual(
        Array.from({ length: 20 }, (__, n) => BigInt(101 + n)),
      );
      expect(await pets.countDocuments(there)).toBe(100);
      expect(await pets.countDocuments()).toBe(120);
      expect(sent('findAndModify')).toBeLessThan(8);
    });
  });

  it('never exceeds the last id', async () => {
    const { url, counters } = await emptyDatabase();
    const { repository } = await openRepository(url);
    await counters.updateOne({ _id: 'pets' }, { $set: { last: MAX_PET_ID } });

    await expect(repository.insert(rex)).rejects.toThrow(PetIdsExhausted);
    expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: MAX_PET_ID }]);
  });

  describe('holds an id again after it was set to another value', () => {
    const highest = 100n;
    const damages: readonly (readonly [name: string, last: unknown, next: bigint])[] = [
      ['a fraction', new Double(200_000.5), 200_002n],
      ['a double', new Double(200_000), 200_001n],
      ['an int', new Int32(200_000), 200_001n],
      ['a decimal', Decimal128.fromString('200000.5'), 200_002n],
      ['a fraction that is too low', new Double(0.5), highest + 1n],
      ['infinity', new Double(Infinity), highest + 1n],
      ['minus infinity', new Double(-Infinity), highest + 1n],
      ['NaN', new Double(NaN), highest + 1n],
      ['a decimal NaN', Decimal128.fromString('NaN'), highest + 1n],
      ['a huge double', new Double(1e300), highest + 1n],
      ['a negative number', -5n, highest + 1n],
      ['the lowest long', -(2n ** 63n), highest + 1n],
      ['a number beyond the last id', MAX_PET_ID + 1n, highest + 1n],
      ['the highest long', 2n ** 63n - 1n, highest + 1n],
      ['an array', [200_000n, 3n], highest + 1n],
      ['an empty array', [], highest + 1n],
      ['a string', '200000', highest + 1n],
      ['an object', { last: 200_000n }, highest + 1n],
      ['a regular expression', /^2/, highest + 1n],
      ['a date', new Date(200_000), highest + 1n],
      ['true', true, highest + 1n],
      ['null', null, highest + 1n],
      ['MinKey', new MinKey(), highest + 1n],
      ['MaxKey', new MaxKey(), highest + 1n],
    ];
    const damaged = async (update: Document, get = emptyDatabase) => {
      const database = await get();
      await database.pets.insertMany([3n, highest].map((_id) => ({ _id, ...there })));
      await database.db.collection<{ _id: string }>('counters').updateOne({ _id: 'pets' }, update);
      return database;
    };

    it.each(damages)('%s, in a migration', async (_, last, next) => {
      const { url, counters } = await damaged({ $set: { last } });

      await Promise.all([migrate(url), migrate(url)]);

      expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: next - 1n }]);
    });

    // The migration above repairs every value in the same way. These stand for the ways to notice one.
    const noticed = ['an int', 'a negative number', 'a number beyond the last id', 'an array', 'a string'];
    const some = damages.filter(([name]) => noticed.includes(name));
    it.each(some)('%s, for two processes at once', async (_, last, next) => {
      const { url, counters, pets } = await damaged({ $set: { last } });
      const [one, other] = [await openRepository(url), await openRepository(url)];

      const inserting = Array.from({ length: 20 }, (__, n) => (n % 2 ? one : other).repository.insert(rex));
      const stored = await Promise.all(inserting);

      expect(stored.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1))).toStrictEqual(
        Array.from({ length: 20 }, (__, n) => next + BigInt(n)),
      );
      expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: next + 19n }]);
      expect(await pets.countDocuments()).toBe(22);
    });

    it('no value', async () => {
      const { url, counters } = await damaged({ $unset: { last: 1 } });
      const { repository } = await openRepository(url);

      expect((await repository.insert(rex)).id).toBe(highest + 1n);
      expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: highest + 1n }]);
    });

    it('when a pet has an id beyond the last one', async () => {
      const { url, db, pets, counters } = await damaged({ $set: { last: 'x' } }, () => freshDatabase(mongo!));
      await db.command({ collMod: 'pets', validator: {} });
      await pets.insertOne({ _id: MAX_PET_ID + 1n, ...there });
      const { repository } = await openRepository(url);

      expect((await repository.insert(rex)).id).toBe(highest + 1n);
      expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: highest + 1n }]);
    });
  });
});

describe('an allocator of pet ids', () => {
  let patient: Deadline;
  /** How many ids each update of the counter asks for. */
  let asked: number[];
  /** How often the counter was raised to the highest id. */
  let raises: number;
  beforeEach(() => {
    patient = new Deadline(100_000);
    asked = [];
    raises = 0;
  });

  /**
   * @param last the counter
   * @param replies to the first updates, which change nothing. `null`: the counter does not fit the filter.
   */
  function allocator(last: bigint, ...replies: readonly (null | 'no reply')[]): IdAllocator {
    let counter = last;
    const waiting = [...replies];
    const counters = {
      async findOneAndUpdate(_: unknown, { $inc }: { $inc: { last: Long } }) {
        asked.push($inc.last.toNumber());
        const reply = waiting.shift();
        if (reply === 'no reply') return new Promise(() => {});
        if (reply === null) return null;
        if (counter + $inc.last.toBigInt() > MAX_PET_ID) return null;
        counter += $inc.last.toBigInt();
        return { last: Long.fromBigInt(counter) };
      },
      findOne: async () => (last < 0n ? null : { last: Long.fromBigInt(counter) }),
      async updateOne() {
        raises++;
        counter = 0n;
      },
    } as unknown as Collection<CounterDocument>;
    const pets = { findOne: async () => null } as unknown as Collection<PetDocument>;
    return new IdAllocator(counters, pets, undefined);
  }

  it('gives up when other processes change the counter at every attempt, and serves the next call', async () => {
    const ids = allocator(0n, null, null, null, null);

    await expect(ids.next(patient)).rejects.toThrow(
      new StorageUnavailable('other processes kept changing the counter of pet ids'),
    );
    expect(asked).toStrictEqual([1, 1, 1, 1]);
    expect(await ids.next(patient)).toBe(1n);
  });

  it('raises a counter once that does not hold an id', async () => {
    const ids = allocator(-1n, null);

    expect([await ids.next(patient), await ids.next(patient)]).toStrictEqual([1n, 2n]);
    expect(raises).toBe(1);
  });

  it('gives the last ids to the first callers', async () => {
    const ids = allocator(MAX_PET_ID - 3n);

    expect(await Promise.allSettled(Array.from({ length: 4 }, () => ids.next(patient)))).toStrictEqual([
      { status: 'fulfilled', value: MAX_PET_ID - 2n },
      { status: 'fulfilled', value: MAX_PET_ID - 1n },
      { status: 'fulfilled', value: MAX_PET_ID },
      { status: 'rejected', reason: new PetIdsExhausted() },
    ]);
    // One update for the first caller, then one for the others: with three ids, and with the two that are left.
    expect(asked).toStrictEqual([1, 3, 2, 1]);
  });

  it('refuses a caller whose deadline has passed, without an update', async () => {
    const ids = allocator(0n);

    await expect(ids.next(new Deadline(0))).rejects.toThrow(
      new StorageUnavailable('no pet id was allocated in time'),
    );
    expect(asked).toStrictEqual([]);
  });

  it('abandons an update after five seconds, and leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const ids = allocator(0n, 'no reply');
    const waiting = [ids.next(patient), ids.next(patient)];
    await vi.advanceTimersByTimeAsync(4_999);
    expect(asked).toStrictEqual([1]);
    await vi.advanceTimersByTimeAsync(1);

    expect(await Promise.all(waiting)).toStrictEqual([1n, 2n]);
    expect(asked).toStrictEqual([1, 2]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
