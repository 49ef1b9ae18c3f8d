import { MongoServerError, UUID } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { IdempotencyKeyReused } from '../../../src/application/pets/errors.ts';
import type { PetRepository } from '../../../src/application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet, type Pet } from '../../../src/domain/pet.ts';
import { idempotencyFor, inOrderOfId } from '../../support/archived-pets.ts';
import { failCommand, failPoint } from '../../support/fail-point.ts';
import {
  addressOf,
  freshDatabase,
  openRepository,
  type TestDatabase,
  throughPort,
  withOptions,
} from '../../support/mongo-database.ts';
import { startMongo } from '../../support/mongodb.ts';
import { leftOut, mongo as shared } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const TIMED_OUT = { code: 64, errmsg: 'waiting for replication timed out' };
const NOT_WRITABLE_PRIMARY = 10_107;
const BAD_VALUE = 2;

// A separate server: some fail points affect all its clients.
describe.skipIf(shared === undefined)(`an insert into MongoDB${leftOut}`, () => {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({ setParameters: { enableTestCommands: 1 } });
  });
  afterAll(() => mongo?.stop());

  async function proxied(url: string) {
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    return { proxy, throughProxy: throughPort(url, proxy.port) };
  }

  describe('stores exactly one pet', () => {
    it.each([true, false])(
      'when the connection is lost before the write (retryWrites=%s)',
      async (retryWrites) => {
        const { url, db, pets } = await freshDatabase(mongo);
        const { repository, sent } = await openRepository(withOptions(url, { retryWrites }));
        await failCommand(db, 'insert', { times: 3 }, { closeConnection: true });

        const stored = await repository.insert(rex);

        expect(await pets.find().toArray()).toMatchObject([{ _id: stored.id, name: 'Rex' }]);
        expect(sent('insert')).toBe(4);
      },
    );

    // The server recognises a retry of the driver. Without such retries, one lost reply is enough.
    it.each([
      { retryWrites: false, replies: 1 },
      { retryWrites: true, replies: 3 },
    ])('when the connection is lost after the write: %o', async ({ retryWrites, replies }) => {
      const { url, pets } = await freshDatabase(mongo);
      const { proxy, throughProxy } = await proxied(url);
      const { repository, sent } = await openRepository(withOptions(throughProxy, { retryWrites }));
      proxy.loseReplies('insert', replies);

      const stored = await repository.insert(rex);

      expect(proxy.repliesToLose).toBe(0);
      expect(await pets.find().toArray()).toMatchObject([{ _id: stored.id, name: 'Rex' }]);
      expect(await repository.findById(stored.id)).toStrictEqual(stored);
      expect(sent('insert')).toBe(replies + 1);
    });

    it.each([1, 2])(
      'when the write concern times out %i times, the second time with a duplicate key',
      async (times) => {
        const { url, db, pets } = await freshDatabase(mongo);
        const { repository, sent } = await openRepository(url);
        await failCommand(db, 'insert', { times }, { writeConcernError: TIMED_OUT });

        const stored = await repository.insert(rex);

        expect(stored.id).toBe(1n);
        expect(await pets.find().toArray()).toMatchObject([{ _id: 1n, name: 'Rex' }]);
        // The number depends on when a majority has the document.
        expect(sent('insert')).toBeGreaterThanOrEqual(2);
      },
    );

    it.each(['insert', 'find'])('when the server is temporarily not primary: %s', async (command) => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);
      await failCommand(db, command, { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY });

      const stored = await repository.insert(rex);

      expect(await pets.find().toArray()).toMatchObject([{ _id: stored.id, name: 'Rex' }]);
    });

    it('when the primary steps down during many inserts', async () => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);

      const stepDown = { replSetStepDown: 1, force: true, secondaryCatchUpPeriodSecs: 0 };
      const steppedDown = new AbortController();
      const ids: bigint[] = [];
      const insert = async () => ids.push((await repository.insert(rex)).id);
      const inserting = numbers(50).map(async () => {
        while (!steppedDown.signal.aborted) await insert();
        await insert();
      });
      await db.client.db('admin').command(stepDown);
      steppedDown.abort();
      await Promise.all(inserting);

      expect(new Set(ids).size).toBe(ids.length);
      expect(await pets.countDocuments()).toBe(ids.length);
    });

    it('when the server freezes temporarily', async () => {
      const { url, pets } = await freshDatabase(mongo);
      const { proxy, throughProxy } = await proxied(url);
      const { repository } = await openRepository(throughProxy);
      const release = await holding(proxy, 'insert', () => repository.insert(rex));
      proxy.stall();
      release.go();
      await expect.poll(() => pets.countDocuments()).toBe(1);
      proxy.resume();

      const stored = await release.outcome;

      expect(await pets.find().toArray()).toMatchObject([{ _id: stored.id, name: 'Rex' }]);
    });
  });

  describe('does not touch an existing pet with the next id', () => {
    const stranger = { name: 'Tom', categoryId: 8n, status: 'sold' } as const;

    it.each([
      { what: 'one', ids: [2n], expected: 3n },
      { what: 'several', ids: [2n, 3n, 6n], expected: 7n },
    ])('and takes another id: $what', async ({ ids, expected }) => {
      const { url, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);
      const first = await repository.insert(rex);
      await pets.insertMany(ids.map((_id) => ({ _id, ...stranger })));

      const stored = await repository.insert(rex);

      expect(stored.id).toBe(expected);
      expect(await pets.find({}, { sort: { _id: 1 }, projection: { op: 0 } }).toArray()).toStrictEqual([
        { _id: first.id, ...rex },
        ...ids.map((_id) => ({ _id, ...stranger })),
        { _id: expected, ...rex },
      ]);
    });

    it('and takes no other id before a majority stands behind the rejection', async () => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository, client } = await openRepository(url);
      await repository.insert(rex);
      await pets.insertOne({ _id: 2n, ...stranger });
      const ids: unknown[] = [];
      client.on('commandStarted', ({ command }) => ids.push(command['documents']?.[0]._id.toNumber()));
      await failCommand(db, 'insert', { times: 1 }, { writeConcernError: TIMED_OUT });

      const stored = await repository.insert(rex);

      expect(stored.id).toBe(3n);
      expect(ids.filter((id) => id !== undefined)).toStrictEqual([2, 2, 3]);
      expect(await pets.findOne({ _id: 2n })).toStrictEqual({ _id: 2n, ...stranger });
    });
  });

  it('stores this document, whatever other fields were passed', async () => {
    const { url, pets } = await freshDatabase(mongo);
    const { repository } = await openRepository(url);

    const odd = { ...rex, id: 99n, _id: 99n, owner: 'Tom' };
    await repository.insert(odd);

    const stored = await pets.find().toArray();
    expect(stored).toStrictEqual([
      { _id: 1n, name: 'Rex', categoryId: 7n, status: 'available', op: expect.any(UUID) },
    ]);
  });

  it.each([1, 5])(
    'is not acknowledged before a majority has it, even if a retry finds it: %i at once',
    async (count) => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { proxy, throughProxy } = await proxied(url);
      const { repository, sent } = await openRepository(withOptions(throughProxy, { wtimeoutMS: 100 }));
      const release = await holding(proxy, 'insert', () => insertRexes(repository, count));
      // Freezes the majority commit point: new writes could still be rolled back.
      const moveOn = await failPoint(db, 'disableSnapshotting', 'alwaysOn');
      let settled = false;
      const outcome = release.outcome.finally(() => {
        settled = true;
      });
      release.go();

      // The documents exist, and second attempts have found them.
      await expect.poll(() => sent('insert')).toBeGreaterThanOrEqual(3);
      const stored = () => pets.countDocuments({}, { readConcern: { level: 'local' } });
      await expect.poll(stored).toBe(count);
      expect(settled).toBe(false);
      await moveOn();

      const ids = (await outcome).map(({ id }) => id);
      expect(
        await pets
          .find({}, { sort: { _id: 1 } })
          .map(({ _id }) => _id)
          .toArray(),
      ).toStrictEqual(ids);
    },
  );

  describe('rejects at once with the error itself, because it is a bug and not an outage', () => {
    it('when the server rejects the command', async () => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository, sent } = await openRepository(url);
      await failCommand(db, 'insert', 'alwaysOn', { errorCode: BAD_VALUE });

      await expect(repository.insert(rex)).rejects.toSatisfy(isServerError(BAD_VALUE));
      expect(sent('insert')).toBe(1);
      expect(await pets.countDocuments()).toBe(0);
    });

    it('when the document violates the schema', async () => {
      const { url, pets } = await freshDatabase(mongo);
      const { repository, sent } = await openRepository(url);

      await expect(repository.insert({ ...rex, name: '' })).rejects.toSatisfy(isServerError(121));
      expect(sent('insert')).toBe(1);
      expect(await pets.countDocuments()).toBe(0);
    });

    it('when an integer is outside int64, which BSON would wrap', async () => {
      const { url, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);

      await expect(repository.insert({ ...rex, categoryId: 2n ** 63n })).rejects.toThrow(RangeError);
      await expect(repository.findById(2n ** 63n)).rejects.toThrow(RangeError);
      await expect(repository.list({ after: -(2n ** 63n) - 1n, limit: 1 })).rejects.toThrow(RangeError);
      expect(await pets.countDocuments()).toBe(0);
    });

    it('when a unique index of the operator rejects it', async () => {
      const { url, pets } = await freshDatabase(mongo);
      await pets.createIndex({ name: 1 }, { unique: true }, {});
      const { repository, sent } = await openRepository(url);
      await repository.insertOnce(rex, idempotencyFor('a'));

      await expect(repository.insertOnce(rex, idempotencyFor('b'))).rejects.toSatisfy(isServerError(11_000));
      expect(sent('insert')).toBe(2);
    });
  });

  describe('that shares a command with others stores exactly one pet for each', () => {
    const COUNT = 20;
    const ids = numbers(COUNT).map((n) => BigInt(n + 1));
    const stranger = { name: 'Tom', categoryId: 8n, status: 'sold' } as const;
    const byId = (stored: readonly Pet[]) => inOrderOfId(stored).map(({ id }) => id);
    const idsIn = (pets: TestDatabase['pets']) =>
      pets
        .find({}, { sort: { _id: 1 } })
        .map(({ _id }) => _id)
        .toArray();

    it('with one command and one read in all, and each caller gets its own pet', async () => {
      const { url, pets } = await freshDatabase(mongo);
      const { repository, sent } = await openRepository(url);

      const news = ids.map((id) => newPet({ name: `pet ${id}`, categoryId: id }));
      const stored = await Promise.all(news.map((pet) => repository.insert(pet)));

      expect(stored).toStrictEqual(news.map((pet, n) => ({ id: ids[n], ...pet })));
      expect(await pets.find({}, { projection: { op: 0 }, sort: { _id: 1 } }).toArray()).toStrictEqual(
        stored.map(({ id, ...pet }) => ({ _id: id, ...pet })),
      );
      expect([sent('insert'), sent('find')]).toStrictEqual([1, 1]);
    });

    it.each([true, false])(
      'when the connection is lost before the write (retryWrites=%s)',
      async (retryWrites) => {
        const { url, db, pets } = await freshDatabase(mongo);
        const { repository } = await openRepository(withOptions(url, { retryWrites }));
        await failCommand(db, 'insert', { times: 3 }, { closeConnection: true });

        const stored = await insertRexes(repository, COUNT);

        expect(byId(stored)).toStrictEqual(ids);
        expect(await idsIn(pets)).toStrictEqual(ids);
      },
    );

    it.each([true, false])('when the reply is lost (retryWrites=%s)', async (retryWrites) => {
      const { url, pets } = await freshDatabase(mongo);
      const { proxy, throughProxy } = await proxied(url);
      const { repository } = await openRepository(withOptions(throughProxy, { retryWrites }));
      proxy.loseReplies('insert', 3);

      const stored = await insertRexes(repository, COUNT);

      expect(proxy.repliesToLose).toBe(0);
      expect(byId(stored)).toStrictEqual(ids);
      expect(await idsIn(pets)).toStrictEqual(ids);
    });

    it.each([1, 2])('when the write concern times out %i times', async (times) => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);
      await failCommand(db, 'insert', { times }, { writeConcernError: TIMED_OUT });

      const stored = await insertRexes(repository, COUNT);

      expect(byId(stored)).toStrictEqual(ids);
      expect(await idsIn(pets)).toStrictEqual(ids);
    });

    it.each([true, false])(
      'beside strangers with some of the ids, which stay (write concern timeout: %s)',
      async (timesOut) => {
        const { url, db, pets } = await freshDatabase(mongo);
        const { repository } = await openRepository(url);
        await repository.insert(newPet({ name: 'first', categoryId: 7n }));
        await pets.insertMany([3n, 6n, 21n].map((_id) => ({ _id, ...stranger })));
        if (timesOut) await failCommand(db, 'insert', { times: 1 }, { writeConcernError: TIMED_OUT });

        const stored = await insertRexes(repository, COUNT);

        expect(byId(stored)).toStrictEqual([2n, ...ids.slice(1).map((id) => id + 20n)]);
        expect(await pets.countDocuments(stranger)).toBe(3);
        expect(await pets.countDocuments({ name: 'Rex' })).toBe(COUNT);
      },
    );

    it('or rejects it, if only this one is invalid or breaks a unique index of the operator', async () => {
      const { url, pets } = await freshDatabase(mongo);
      await pets.createIndex({ name: 1 }, { unique: true }, {});
      const { repository } = await openRepository(url);

      const names = ['first', 'a', '', 'b', 'a', 'c'];
      const outcomes = await Promise.allSettled(names.map((name) => repository.insert({ ...rex, name })));

      expect(outcomes).toMatchObject([
        { status: 'fulfilled', value: { id: 1n, name: 'first' } },
        { status: 'fulfilled', value: { id: 2n, name: 'a' } },
        { status: 'rejected', reason: expect.toSatisfy(isServerError(121)) },
        { status: 'fulfilled', value: { id: 3n, name: 'b' } },
        { status: 'rejected', reason: expect.toSatisfy(isServerError(11_000)) },
        { status: 'fulfilled', value: { id: 4n, name: 'c' } },
      ]);
      expect(await idsIn(pets)).toStrictEqual([1n, 2n, 3n, 4n]);
    });

    it('or replays one with the same idempotency key', async () => {
      const { url, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);
      const earlier = await repository.insertOnce(rex, idempotencyFor('earlier'));
      const other = { ...idempotencyFor('a'), fingerprint: 'f'.repeat(64) };

      const outcomes = await Promise.allSettled([
        repository.insert(rex),
        repository.insertOnce(rex, idempotencyFor('a')),
        repository.insertOnce(rex, idempotencyFor('earlier')),
        repository.insertOnce(rex, idempotencyFor('a')),
        repository.insertOnce(rex, other),
        repository.insertOnce(rex, idempotencyFor('c')),
      ]);

      const a = { id: 3n, ...rex };
      expect(outcomes).toStrictEqual([
        { status: 'fulfilled', value: { id: 2n, ...rex } },
        { status: 'fulfilled', value: { pet: a, replayed: false } },
        { status: 'fulfilled', value: { pet: earlier.pet, replayed: true } },
        { status: 'fulfilled', value: { pet: a, replayed: true } },
        { status: 'rejected', reason: new IdempotencyKeyReused() },
        { status: 'fulfilled', value: { pet: { id: 4n, ...rex }, replayed: false } },
      ]);
      expect(await idsIn(pets)).toStrictEqual([1n, 2n, 3n, 4n]);
    });

    it('or rejects them all at once, if the server rejects the command', async () => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository, sent } = await openRepository(url);
      await failCommand(db, 'insert', 'alwaysOn', { errorCode: BAD_VALUE });

      const outcomes = await Promise.allSettled(ids.map(() => repository.insert(rex)));

      const reason = expect.toSatisfy(isServerError(BAD_VALUE));
      expect(outcomes).toMatchObject(ids.map(() => ({ status: 'rejected', reason })));
      expect(sent('insert')).toBe(1);
      expect(await pets.countDocuments()).toBe(0);
    });
  });

  it('is unavailable when the failure persists, with the cause', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { repository } = await openRepository(url, 500);
    await failCommand(db, 'insert', 'alwaysOn', { errorCode: NOT_WRITABLE_PRIMARY });

    const error = await repository.insert(rex).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(StorageUnavailable);
    expect(causes(error).some((cause) => cause instanceof MongoServerError)).toBe(true);
  });
});

function isServerError(code: number): (error: unknown) => boolean {
  return (error) => error instanceof MongoServerError && error.code === code;
}

function insertRexes(repository: PetRepository, count: number): Promise<Pet[]> {
  return Promise.all(numbers(count).map(() => repository.insert(rex)));
}

function causes(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}

/** Starts the work and resolves when the proxy holds its command. `go` releases the command. */
async function holding<T>(proxy: TcpProxy, command: string, work: () => Promise<T>) {
  const held = proxy.hold(command);
  const outcome = work();
  return { go: await held, outcome };
}
