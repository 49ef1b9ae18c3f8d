import { MongoServerError, UUID } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { failCommand, failPoint } from '../../support/fail-point.ts';
import {
  addressOf,
  freshDatabase,
  openClient,
  openRepository,
  throughPort,
  WEAK,
  withOptions,
} from '../../support/mongo-database.ts';
import { sharedMongo, startMongo } from '../../support/mongodb.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const TIMED_OUT = { code: 64, errmsg: 'waiting for replication timed out' };
const NOT_WRITABLE_PRIMARY = 10_107;
const BAD_VALUE = 2;

const none = (await sharedMongo()) === undefined;

// A separate server: some fail points affect all its clients.
describe.skipIf(none)(`an insert into MongoDB${none ? ' (left out: no server)' : ''}`, () => {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({ setParameters: { enableTestCommands: 1 } });
  }, 120_000);
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

    it('when the reply to the update of the counter is lost', async () => {
      const { url, pets } = await freshDatabase(mongo);
      const { proxy, throughProxy } = await proxied(url);
      const { repository } = await openRepository(withOptions(throughProxy, { retryWrites: false }));
      proxy.loseReplies('findAndModify', 1);

      const stored = await repository.insert(rex);

      // The first id is lost with the reply.
      expect(stored.id).toBe(2n);
      expect(await pets.find().toArray()).toMatchObject([{ _id: 2n, name: 'Rex' }]);
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

    it.each(['insert', 'findAndModify'])(
      'when the server is temporarily not primary: %s',
      async (command) => {
        const { url, db, pets } = await freshDatabase(mongo);
        const { repository } = await openRepository(url);
        await failCommand(db, command, { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY });

        const stored = await repository.insert(rex);

        expect(await pets.find().toArray()).toMatchObject([{ _id: stored.id, name: 'Rex' }]);
      },
    );

    it('when the primary steps down during many inserts', async () => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);

      const inserting = Array.from({ length: 50 }, () => repository.insert(rex));
      await db.client.db('admin').command({ replSetStepDown: 1, force: true, secondaryCatchUpPeriodSecs: 0 });
      const stored = await Promise.all(inserting);

      expect(new Set(stored.map(({ id }) => id)).size).toBe(50);
      expect(await pets.countDocuments()).toBe(50);
    });

    it('when the server freezes temporarily', async () => {
      const { url, pets } = await freshDatabase(mongo);
      const { proxy, throughProxy } = await proxied(url);
      const { repository } = await openRepository(throughProxy);
      const release = await holding(proxy, 'insert', () => repository.insert(rex));
      proxy.stall();
      release.go();
      setTimeout(() => proxy.resume(), 300);

      const stored = await release.outcome;

      expect(await pets.find().toArray()).toMatchObject([{ _id: stored.id, name: 'Rex' }]);
    });
  });

  describe('does not touch an existing pet with the allocated id', () => {
    const stranger = { name: 'Tom', categoryId: 8n, status: 'sold' } as const;

    it.each([
      { what: 'one', ids: [1n], expected: 2n },
      { what: 'several', ids: [1n, 2n, 5n], expected: 6n },
    ])('and takes another id: $what', async ({ ids, expected }) => {
      const { url, pets } = await freshDatabase(mongo);
      const { repository } = await openRepository(url);
      await pets.insertMany(ids.map((_id) => ({ _id, ...stranger })));

      const stored = await repository.insert(rex);

      expect(stored.id).toBe(expected);
      expect(await pets.find({}, { sort: { _id: 1 }, projection: { op: 0 } }).toArray()).toStrictEqual([
        ...ids.map((_id) => ({ _id, ...stranger })),
        { _id: expected, ...rex },
      ]);
    });

    it('and takes another id when a duplicate key and a write concern timeout come in one reply', async () => {
      const { url, db, pets } = await freshDatabase(mongo);
      const { repository, sent } = await openRepository(url);
      await pets.insertOne({ _id: 1n, ...stranger });
      await failCommand(db, 'insert', { times: 1 }, { writeConcernError: TIMED_OUT });

      const stored = await repository.insert(rex);

      expect(stored.id).toBe(2n);
      expect(sent('insert')).toBe(2);
      expect(await pets.findOne({ _id: 1n })).toStrictEqual({ _id: 1n, ...stranger });
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

  it('waits for the journals of a majority, whatever the options of the client', async () => {
    const { url } = await freshDatabase(mongo);
    const { db, reads, commands } = await openClient(url, WEAK);
    const repository = new MongoPetRepository(db, reads);

    const { id } = await repository.insert(rex);
    await repository.findById(id);
    await repository.list({ limit: 1 });

    const majority = { w: 'majority', j: true, wtimeout: 5_000 };
    expect(
      commands.map(({ commandName, command }) => [
        commandName,
        command['writeConcern'] ?? command['readConcern'].level,
        // A direct connection changes `primary` to `primaryPreferred`.
        command['$readPreference']?.mode === 'nearest',
      ]),
    ).toStrictEqual([
      ['findAndModify', majority, false],
      ['insert', majority, false],
      // Confirms the primary before its first read.
      ['find', 'linearizable', false],
      ['find', 'majority', false],
      ['find', 'majority', false],
    ]);
  });

  it('is not acknowledged before a majority has it, even if a retry finds it', async () => {
    const { url, db, pets } = await freshDatabase(mongo);
    const { proxy, throughProxy } = await proxied(url);
    const { repository, sent } = await openRepository(withOptions(throughProxy, { wtimeoutMS: 100 }));
    const release = await holding(proxy, 'insert', () => repository.insert(rex));
    // Freezes the majority commit point: new writes could still be rolled back.
    const moveOn = await failPoint(db, 'disableSnapshotting', 'alwaysOn');
    let settled = false;
    const outcome = release.outcome.finally(() => {
      settled = true;
    });
    release.go();

    // The document exists, a second attempt has found it, and a majority read does not show it yet.
    await expect.poll(() => sent('insert') >= 3 && sent('find') >= 2, { timeout: 10_000 }).toBe(true);
    expect(await pets.countDocuments({}, { readConcern: { level: 'local' } })).toBe(1);
    expect(settled).toBe(false);
    await moveOn();

    const stored = await outcome;
    expect(await pets.find().toArray()).toMatchObject([{ _id: stored.id, name: 'Rex' }]);
  });

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
      await repository.insert(rex);

      await expect(repository.insert(rex)).rejects.toSatisfy(isServerError(11_000));
      expect(sent('insert')).toBe(2);
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

function causes(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}

/** Starts the work and resolves when the proxy holds its command. `go` releases the command. */
async function holding<T>(proxy: TcpProxy, command: string, work: () => Promise<T>) {
  const held = proxy.hold(command);
  const outcome = work();
  return { go: await held, outcome };
}
