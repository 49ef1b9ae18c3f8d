import { UUID } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import { Deadline } from '../../../src/adapters/mongodb/connection/deadline.ts';
import { PetClaims } from '../../../src/adapters/mongodb/pet-claims.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import type { PetRepository } from '../../../src/application/ports/pet-repository.ts';
import { MAX_PET_ID, type Pet } from '../../../src/domain/pet.ts';
import { idempotencyFor, inOrderOfId } from '../../support/archived-pets.ts';
import { failCommand, failPoint, separateMongo } from '../../support/fail-point.ts';
import {
  freshDatabase,
  isConfirmation,
  openClient,
  openRepository,
  openService,
  putFence,
  type TestDatabase,
  throughProxy,
} from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';
import { aPet } from '../../support/pets.ts';

const rex = aPet();
const NOT_WRITABLE_PRIMARY = 10_107;
const BAD_VALUE = 2;
const STEP_DOWN_COMMAND = { replSetStepDown: 1, force: true, secondaryCatchUpPeriodSecs: 0 };

const PET_COUNT = 20;
/** The ids of the first {@link PET_COUNT} pets. */
const IDS = numbers(PET_COUNT).map((n) => BigInt(n + 1));

// Inserts that wait at the same time share one insert command.
describe.skipIf(mongo === undefined)(`an insert into MongoDB${noMongo}`, () => {
  const { server, emptyDatabase } = separateMongo();

  async function openWithoutProxy() {
    const database = await emptyDatabase();
    return { ...database, ...(await openRepository(database.url)) };
  }

  async function openThroughProxy(options: Record<string, number> = {}) {
    const database = await emptyDatabase();
    const { url, proxy } = await throughProxy(database.url, options);
    return { ...database, proxy, ...(await openRepository(url)) };
  }

  type ProxiedDatabase = Awaited<ReturnType<typeof openThroughProxy>>;

  // Each failure happens three times, and the fourth attempt succeeds. `insertCommands` is the number of the insert
  // commands that the adapter sends.
  it.each<readonly [cause: string, fail: (database: ProxiedDatabase) => unknown, insertCommands: number]>([
    [
      'the connection is lost before the write',
      ({ db }) => failCommand(db, 'insert', { times: 3 }, { closeConnection: true }),
      4,
    ],
    ['the connection is lost after the write', ({ proxy }) => proxy.loseReplies('insert', 3), 4],
    [
      'the server is not primary',
      ({ db }) => failCommand(db, 'insert', { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY }),
      4,
    ],
    [
      'the server is not primary when the greatest id is read',
      ({ db }) => failCommand(db, 'find', { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY }),
      1,
    ],
  ])('stores each pet of its command exactly once when %s', async (_, fail, insertCommands) => {
    const database = await openThroughProxy();
    await fail(database);

    const stored = await insertRexes(database.repository, PET_COUNT);

    expect(inOrderOfId(stored).map(({ id }) => id)).toStrictEqual(IDS);
    expect(await idsIn(database.pets)).toStrictEqual(IDS);
    expect(database.sent('insert')).toBe(insertCommands);
  });

  it('is retried until its own deadline, even if other inserts of the same command have earlier deadlines', async () => {
    const { url, db } = await emptyDatabase();
    const { db: adapterDb, reads } = await openClient(url);
    const claims = new PetClaims(adapterDb, reads, undefined);
    const stopFailing = await failCommand(db, 'insert', 'alwaysOn', { errorCode: NOT_WRITABLE_PRIMARY });
    const earlyDeadline = new Deadline(100);
    const outcomes = Promise.allSettled(
      [earlyDeadline, new Deadline(60_000), earlyDeadline].map((deadline) =>
        claims.add({ pet: rex, idempotency: undefined, token: new UUID(), deadline }),
      ),
    );
    await expect.poll(() => earlyDeadline.hasPassed).toBe(true);
    await stopFailing();

    expect((await outcomes)[1]).toMatchObject({ status: 'fulfilled', value: { name: rex.name } });
  });

  it('is sent again when the reply to its command reports that a change of the primary interrupted this insert', async () => {
    const { url } = await emptyDatabase();
    const { db, reads } = await openClient(url);
    const writeError = { index: 0, code: 11_602, errmsg: 'operation was interrupted' };
    vi.spyOn(db, 'command').mockResolvedValueOnce({ ok: 1, n: 0, writeErrors: [writeError] });
    expect((await new MongoPetRepository(db, reads).insert(rex)).id).toBe(1n);
  });

  it('is assigned an id greater than every existing id, even if an election has rolled back earlier inserts', async () => {
    const { db, pets, proxy, repository } = await openThroughProxy();
    await repository.insert(rex);
    const heldInsert = proxy.hold('insert');
    const inserting = repository.insert(rex);
    const forwardInsert = await heldInsert;
    // The removal stands for the rollback by an election. The fence (a document that takes an id and is not a pet)
    // stands for a reservation by another service after the election.
    await pets.deleteMany({});
    await putFence(db, 9n, 9n);
    await db.client.db('admin').command(STEP_DOWN_COMMAND);
    forwardInsert();

    expect((await inserting).id).toBe(10n);
    expect((await repository.insert(rex)).id).toBe(11n);
  });

  it('stores exactly one pet when the primary steps down, and the adapter then confirms the next primary by a linearizable read', async () => {
    const { db, pets, repository, commands } = await openWithoutProxy();
    const loops = new AbortController();
    const ids: bigint[] = [];
    const insert = async () => ids.push((await repository.insert(rex)).id);
    const inserting = numbers(50).map(async () => {
      while (!loops.signal.aborted) await insert();
      await insert();
    });
    await db.client.db('admin').command(STEP_DOWN_COMMAND);
    loops.abort();
    await Promise.all(inserting);

    expect(new Set(ids).size).toBe(ids.length);
    expect(await pets.countDocuments()).toBe(ids.length);
    expect(commands.filter(isConfirmation).length).toBeGreaterThan(0);
  });

  it('is acknowledged only when a majority of the members has the pet, even if a retry finds the pet earlier', async () => {
    // The server waits only 100 ms for a majority before it reports a timeout, so the adapter retries soon.
    const { db, pets, proxy, repository, sent } = await openThroughProxy({ wtimeoutMS: 100 });
    const heldInsert = proxy.hold('insert');
    let isSettled = false;
    const inserting = insertRexes(repository, 5).finally(() => {
      isSettled = true;
    });
    const forwardInsert = await heldInsert;
    // Until `allowMajority` is called, no new write counts as stored by a majority of the members. An election could
    // still roll back such a write.
    const allowMajority = await failPoint(db, 'disableSnapshotting', 'alwaysOn');
    forwardInsert();

    // All five pets are stored, and the adapter has sent at least two more insert commands.
    await expect.poll(() => sent('insert')).toBeGreaterThanOrEqual(3);
    const countStored = () => pets.countDocuments({}, { readConcern: { level: 'local' } });
    await expect.poll(countStored).toBe(5);
    expect(isSettled).toBe(false);
    await allowMajority();

    const ids = (await inserting).map(({ id }) => id);
    expect(await idsIn(pets)).toStrictEqual(ids);
  });

  it('is rejected if its pet is invalid or violates a unique index that the operator has created, and the other inserts of its command succeed', async () => {
    const { url, pets } = await freshDatabase(server());
    const { pets: repository, probe } = await openService(url);
    await pets.createIndex({ name: 1 }, { unique: true }, {});
    // No service would start with this index, but a running service continues.
    await probe.check();

    const names = ['first', 'a', '', 'b', 'a', 'c'];
    const outcomes = await Promise.allSettled(names.map((name) => repository.insert({ ...rex, name })));

    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { id: 1n, name: 'first' } },
      { status: 'fulfilled', value: { id: 2n, name: 'a' } },
      { status: 'rejected', reason: refusalBy('a validator of MongoDB') },
      { status: 'fulfilled', value: { id: 3n, name: 'b' } },
      { status: 'rejected', reason: refusalBy('the unique index "name_1" of the collection "pets"') },
      { status: 'fulfilled', value: { id: 4n, name: 'c' } },
    ]);
    expect(await idsIn(pets)).toStrictEqual([1n, 2n, 3n, 4n]);
  });

  it('is rejected immediately, together with all inserts of its command, if the server rejects the command', async () => {
    const { db, pets, repository, sent } = await openWithoutProxy();
    await failCommand(db, 'insert', 'alwaysOn', { errorCode: BAD_VALUE });

    const outcomes = await Promise.allSettled(numbers(PET_COUNT).map(() => repository.insert(rex)));

    const reason = new Error('MongoDB rejects a command: BadValue (2)');
    expect(outcomes).toMatchObject(numbers(PET_COUNT).map(() => ({ status: 'rejected', reason })));
    expect(sent('insert')).toBe(1);
    expect(await pets.countDocuments()).toBe(0);
  });

  it('with an idempotency key reads the list of indexes again if the server was not primary', async () => {
    const { db, url } = await emptyDatabase();
    const { pets } = await openService(url);
    // The insert needs the unique index of the keys. Without the index, MongoDB would store a second pet with a key.
    await failCommand(db, 'listIndexes', { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY });

    expect(await pets.insertOnce(rex, idempotencyFor('a'))).toMatchObject({ pet: { id: 1n } });
  });

  it('with an idempotency key returns the pet of the earlier insert with this key, even if no id is left', async () => {
    const { db, repository, sent } = await openWithoutProxy();
    const { pet } = await repository.insertOnce(rex, idempotencyFor('a'));
    // A fence (a document that takes ids and is not a pet) takes all ids after the first pet.
    await putFence(db, 2n, MAX_PET_ID);
    await expect(repository.insert(rex)).rejects.toThrow(PetIdsExhausted);

    const findsBefore = sent('find');
    await expect(repository.insertOnce(rex, idempotencyFor('b'))).rejects.toThrow(PetIdsExhausted);
    // The three finds: a read finds no pet, the primary is confirmed, and a second read finds no pet. The second read
    // is needed, because the first read may have come from a deposed primary (a member that has not noticed yet that
    // another member is the primary).
    expect(sent('find')).toBe(findsBefore + 3);
    expect(await repository.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
    expect(sent('find')).toBe(findsBefore + 4);
  });
});

function refusalBy(rule: string) {
  return { kind: 'storage-setup', message: expect.stringMatching(`^${rule} .*refuses a record`) };
}

function insertRexes(repository: PetRepository, count: number): Promise<Pet[]> {
  return Promise.all(numbers(count).map(() => repository.insert(rex)));
}

function idsIn(pets: TestDatabase['pets']): Promise<bigint[]> {
  const documents = pets.find({}, { sort: { _id: 1 } });
  return documents.map(({ _id }) => _id).toArray();
}
