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
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';
import { aPet } from '../../support/pets.ts';

const rex = aPet();
const NOT_WRITABLE_PRIMARY = 10_107;
const BAD_VALUE = 2;
const STEP_DOWN = { replSetStepDown: 1, force: true, secondaryCatchUpPeriodSecs: 0 };

const COUNT = 20;
const IDS = numbers(COUNT).map((n) => BigInt(n + 1));

describe.skipIf(mongo === undefined)(`an insert into MongoDB${leftOut}`, () => {
  const { server, emptyDatabase } = separateMongo();

  async function opened() {
    const database = await emptyDatabase();
    return { ...database, ...(await openRepository(database.url)) };
  }

  async function proxied(options: Record<string, number> = {}) {
    const database = await emptyDatabase();
    const { url, proxy } = await throughProxy(database.url, options);
    return { ...database, proxy, ...(await openRepository(url)) };
  }

  type Proxied = Awaited<ReturnType<typeof proxied>>;

  it.each<readonly [string, (at: Proxied) => unknown, number]>([
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
      'the server is not primary for the read of the greatest id',
      ({ db }) => failCommand(db, 'find', { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY }),
      1,
    ],
  ])('stores exactly one pet, like all of its command, when %s', async (_, fail, inserts) => {
    const at = await proxied();
    await fail(at);

    const stored = await insertRexes(at.repository, COUNT);

    expect(inOrderOfId(stored).map(({ id }) => id)).toStrictEqual(IDS);
    expect(await idsIn(at.pets)).toStrictEqual(IDS);
    expect(at.sent('insert')).toBe(inserts);
  });

  it('is tried until its own deadline, even if others of its command have earlier deadlines', async () => {
    const { url, db } = await emptyDatabase();
    const { db: ours, reads } = await openClient(url);
    const claims = new PetClaims(ours, reads, undefined);
    const recover = await failCommand(db, 'insert', 'alwaysOn', { errorCode: NOT_WRITABLE_PRIMARY });
    const early = new Deadline(100);
    const outcomes = Promise.allSettled(
      [early, new Deadline(60_000), early].map((deadline) =>
        claims.add({ pet: rex, idempotency: undefined, token: new UUID(), deadline }),
      ),
    );
    await expect.poll(() => early.hasPassed).toBe(true);
    await recover();

    expect((await outcomes)[1]).toMatchObject({ status: 'fulfilled', value: { name: rex.name } });
  });

  it('is tried again when a change of the primary interrupts this insert, and not its whole command', async () => {
    const { url } = await emptyDatabase();
    const { db, reads } = await openClient(url);
    const interrupted = { index: 0, code: 11_602, errmsg: 'operation was interrupted' };
    vi.spyOn(db, 'command').mockResolvedValueOnce({ ok: 1, n: 0, writeErrors: [interrupted] });
    expect((await new MongoPetRepository(db, reads).insert(rex)).id).toBe(1n);
  });

  it('takes no id below an existing one, even if an election has undone the inserts before it', async () => {
    const { db, pets, proxy, repository } = await proxied();
    await repository.insert(rex);
    const held = proxy.hold('insert');
    const inserting = repository.insert(rex);
    const release = await held;
    await pets.deleteMany({});
    await putFence(db, 9n, 9n);
    await db.client.db('admin').command(STEP_DOWN);
    release();

    expect((await inserting).id).toBe(10n);
    expect((await repository.insert(rex)).id).toBe(11n);
  });

  it('stores exactly one pet when the primary steps down during many inserts, and the primary is confirmed again', async () => {
    const { db, pets, repository, commands } = await opened();
    const steppedDown = new AbortController();
    const ids: bigint[] = [];
    const insert = async () => ids.push((await repository.insert(rex)).id);
    const inserting = numbers(50).map(async () => {
      while (!steppedDown.signal.aborted) await insert();
      await insert();
    });
    await db.client.db('admin').command(STEP_DOWN);
    steppedDown.abort();
    await Promise.all(inserting);

    expect(new Set(ids).size).toBe(ids.length);
    expect(await pets.countDocuments()).toBe(ids.length);
    expect(commands.filter(isConfirmation).length).toBeGreaterThan(0);
  });

  it('is not acknowledged before a majority has it, even if a retry finds it', async () => {
    const { db, pets, proxy, repository, sent } = await proxied({ wtimeoutMS: 100 });
    const held = proxy.hold('insert');
    let settled = false;
    const outcome = insertRexes(repository, 5).finally(() => {
      settled = true;
    });
    const release = await held;
    // Freezes the majority commit point: new writes could still be rolled back.
    const moveOn = await failPoint(db, 'disableSnapshotting', 'alwaysOn');
    release();

    // The documents exist, and second attempts have found them.
    await expect.poll(() => sent('insert')).toBeGreaterThanOrEqual(3);
    const stored = () => pets.countDocuments({}, { readConcern: { level: 'local' } });
    await expect.poll(stored).toBe(5);
    expect(settled).toBe(false);
    await moveOn();

    const ids = (await outcome).map(({ id }) => id);
    expect(await idsIn(pets)).toStrictEqual(ids);
  });

  it('is rejected alone if only its own pet is invalid or violates a unique index of the operator', async () => {
    const { url, pets } = await freshDatabase(server());
    const { pets: repository, probe } = await openService(url);
    await pets.createIndex({ name: 1 }, { unique: true }, {});
    await probe.check();

    const names = ['first', 'a', '', 'b', 'a', 'c'];
    const outcomes = await Promise.allSettled(names.map((name) => repository.insert({ ...rex, name })));

    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { id: 1n, name: 'first' } },
      { status: 'fulfilled', value: { id: 2n, name: 'a' } },
      { status: 'rejected', reason: refused('a validator of MongoDB') },
      { status: 'fulfilled', value: { id: 3n, name: 'b' } },
      { status: 'rejected', reason: refused('the unique index "name_1" of the collection "pets"') },
      { status: 'fulfilled', value: { id: 4n, name: 'c' } },
    ]);
    expect(await idsIn(pets)).toStrictEqual([1n, 2n, 3n, 4n]);
  });

  it('is rejected immediately, with all others of its command, if the server rejects the command', async () => {
    const { db, pets, repository, sent } = await opened();
    await failCommand(db, 'insert', 'alwaysOn', { errorCode: BAD_VALUE });

    const outcomes = await Promise.allSettled(IDS.map(() => repository.insert(rex)));

    const reason = new Error('MongoDB rejects a command: BadValue (2)');
    expect(outcomes).toMatchObject(IDS.map(() => ({ status: 'rejected', reason })));
    expect(sent('insert')).toBe(1);
    expect(await pets.countDocuments()).toBe(0);
  });

  it('with an idempotency key reads the indexes again if the server is not primary meanwhile', async () => {
    const { db, url } = await emptyDatabase();
    const { pets } = await openService(url);
    await failCommand(db, 'listIndexes', { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY });

    expect(await pets.insertOnce(rex, idempotencyFor('a'))).toMatchObject({ pet: { id: 1n } });
  });

  it('with an idempotency key looks for its pet when no id is left, and twice if a deposed primary may have missed the pet', async () => {
    const { db, repository, sent } = await opened();
    const { pet } = await repository.insertOnce(rex, idempotencyFor('a'));
    await putFence(db, 2n, MAX_PET_ID);
    await expect(repository.insert(rex)).rejects.toThrow(PetIdsExhausted);

    const before = sent('find');
    await expect(repository.insertOnce(rex, idempotencyFor('b'))).rejects.toThrow(PetIdsExhausted);
    // The second read follows a confirmation of the primary.
    expect(sent('find')).toBe(before + 3);
    expect(await repository.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
    expect(sent('find')).toBe(before + 4);
  });
});

function refused(by: string) {
  return { kind: 'storage-setup', message: expect.stringMatching(`^${by} .*refuses a record`) };
}

function insertRexes(repository: PetRepository, count: number): Promise<Pet[]> {
  return Promise.all(numbers(count).map(() => repository.insert(rex)));
}

function idsIn(pets: TestDatabase['pets']): Promise<bigint[]> {
  const found = pets.find({}, { sort: { _id: 1 } });
  return found.map(({ _id }) => _id).toArray();
}
