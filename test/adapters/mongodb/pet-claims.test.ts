import { type Document, Double, UUID } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { NewPet } from '../../../src/domain/pet.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { ask, KEY } from '../../support/client.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { databasePool, freshDatabase, openRepository, throughProxy } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { aPet, rex } from '../../support/pets.ts';
import { FAILED, runService } from '../../support/process.ts';

const stranger = aPet({ name: 'Tom', categoryId: 8n, status: 'sold' });
const emptyDatabase = databasePool(() => mongo!);

/** A repository that knows the greatest id, and that records the ids of each insert. */
async function opened(url: string, timeoutMs?: number) {
  const opening = await openRepository(url, timeoutMs);
  const inserts: number[][] = [];
  opening.client.on('commandStarted', ({ commandName, command }) => {
    if (commandName !== 'insert') return;
    expect(command['ordered']).toBe(true);
    inserts.push(command['documents'].map(({ _id }: Document) => Number(_id)));
  });
  await opening.repository.insert(rex);
  return { ...opening, inserts };
}

type Opened = Awaited<ReturnType<typeof opened>>;

const insertMany = async ({ repository }: Opened, count: number) => {
  const stored = await Promise.all(numbers(count).map(() => repository.insert(rex)));
  return stored.map(({ id }) => Number(id));
};

/** A service that is reached through a proxy, and that knows the greatest id, 1. */
async function proxied(options: Record<string, number> = {}, timeoutMs?: number) {
  const database = await freshDatabase(mongo!);
  const { url, proxy } = await throughProxy(database.url, options);
  const service = await opened(url, timeoutMs);
  return { ...database, proxy, service };
}

describe.skipIf(mongo === undefined)(`the ids of new pets in MongoDB${leftOut}`, () => {
  it('have no gaps, and waiting inserts share a command of at most 1,000 pets', async () => {
    const { service, proxy } = await proxied();
    const reads = service.sent('find');
    const held = proxy.hold('insert');
    const first = insertMany(service, 3);
    const release = await held;
    const more = insertMany(service, 1_005);
    release();

    expect([...(await first), ...(await more)]).toStrictEqual(numbers(1_008).map((n) => n + 2));
    expect(service.inserts.map(({ length }) => length)).toStrictEqual([1, 3, 1_000, 5]);
    expect(service.sent('find')).toBe(reads);
  });

  it('follow the ids of other services, for which a service backs off, and take one read to find', async () => {
    const { url, pets, service, proxy } = await proxied();
    const other = await opened(url);
    const reads = service.sent('find');
    expect(await insertMany(service, 2)).toStrictEqual([3, 4]);
    const held = proxy.hold('find');
    const next = insertMany(service, 2);
    const release = await held;
    await pets.insertOne({ _id: 5n, ...stranger });
    expect(await insertMany(other, 1)).toStrictEqual([6]);
    release();
    expect(await next).toStrictEqual([7, 8]);
    await insertMany(service, 1);
    await insertMany(service, 1);
    expect(service.inserts).toStrictEqual([[1], [2, 3], [3, 4], [7, 8], [9], [10]]);
    // The one after 8 finds that the other services are idle.
    expect(service.sent('find')).toBe(reads + 3);
  });

  it.each<readonly [string, unknown, readonly number[]]>([
    ['a double', new Double(2), [3, 4]],
    ['a fraction', new Double(1.5), [2, 3]],
  ])('are greater than an existing _id that is a number of another type: %s', async (_, _id, ids) => {
    const { url, db } = await emptyDatabase();
    const running = await opened(url);
    const document: Document = { _id, ...stranger };
    await db.collection('pets').insertOne(document, { bypassDocumentValidation: true });
    const { repository } = await openRepository(url);

    const [first, second] = [await repository.insert(rex), await insertMany(running, 1)];
    expect([Number(first.id), ...second]).toStrictEqual(ids);
  });

  it('stay the same in a second attempt, however many pets of the first one are stored', async () => {
    const { pets, service, proxy } = await proxied();
    await pets.insertOne({ _id: 4n, ...stranger });
    proxy.loseReplies('insert', 1);

    const outcomes = await Promise.all(
      numbers(5).map((n) => service.repository.insertOnce(rex, idempotencyFor(`${n}`))),
    );

    expect(outcomes).toStrictEqual(
      [2n, 3n, 5n, 6n, 7n].map((id) => ({ pet: { id, ...rex }, replayed: false })),
    );
    // A fence that finds an id taken takes the place of the second attempt.
    expect(service.inserts).toStrictEqual([[1], [2, 3, 4, 5, 6], [2], [4], [5, 6, 7]]);
    expect(await pets.countDocuments()).toBe(7);
  });

  it('stay the same when an insert is sent again after 5 s without a reply', async () => {
    const { pets, service, proxy } = await proxied();
    // The timers of the driver are real.
    fakeClock('setTimeout', 'clearTimeout');
    const held = proxy.hold('insert');
    const inserting = insertMany(service, 2);
    const release = await held;
    await vi.advanceTimersByTimeAsync(4_999);
    expect(service.inserts).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    await expect.poll(() => service.inserts).toHaveLength(3);

    expect(await inserting).toStrictEqual([2, 3]);
    release();
    expect(await insertMany(service, 1)).toStrictEqual([4]);
    expect(service.inserts).toStrictEqual([[1], [2, 3], [2, 3], [4]]);
    expect(await pets.countDocuments()).toBe(4);
  });

  it('are assigned to the older insert first, even if the read after a collision has no reply', async () => {
    const { pets, service, proxy } = await proxied({ socketTimeoutMS: 0 });
    await pets.insertOne({ _id: 2n, ...stranger });
    fakeClock('setTimeout', 'clearTimeout');
    const held = proxy.hold('find');
    const inserting = insertMany(service, 1);
    await held;
    await vi.advanceTimersByTimeAsync(1);
    const newer = insertMany(service, 1);
    await vi.advanceTimersByTimeAsync(4_999);
    await expect.poll(() => service.inserts.at(-1)).toStrictEqual([3, 4]);

    expect([await inserting, await newer]).toStrictEqual([[3], [4]]);
  });

  it('are not assigned to inserts that have timed out, which store nothing', async () => {
    const { pets, service, proxy } = await proxied({}, 1_000);
    const held = proxy.hold('insert');
    const first = insertMany(service, 1);
    const release = await held;
    const later = numbers(49).map(() => insertMany(service, 1));
    for (const outcome of await Promise.allSettled([first, ...later])) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageUnavailable) });
    }
    release();
    await expect.poll(() => pets.countDocuments()).toBe(2);

    expect(await insertMany(service, 1)).toStrictEqual([3]);
    expect(await pets.countDocuments()).toBe(3);
  });
});

it.skipIf(mongo === undefined)(
  'inserts into MongoDB with the same idempotency key share one document, or one refusal',
  async () => {
    const { url } = await emptyDatabase();
    const service = await opened(url);
    const insertFive = (pet: NewPet, key: string) =>
      Promise.allSettled(numbers(5).map(() => service.repository.insertOnce(pet, idempotencyFor(key))));
    const five = (outcome: object) => Array.from({ length: 5 }, () => expect.objectContaining(outcome));

    expect(await insertFive(rex, 'a')).toStrictEqual(five({ status: 'fulfilled' }));
    const refused = five({ reason: expect.any(StorageSetupError) });
    expect(await insertFive({ ...rex, name: '' }, 'b')).toStrictEqual(refused);
    expect(service.inserts).toStrictEqual([[1], [2], [3]]);
  },
);

it.skipIf(mongo === undefined)('one read finds the pet of every idempotency key in a batch', async () => {
  const { url, pets } = await emptyDatabase();
  const [service, other] = [await opened(url), await opened(url)];
  const keys = numbers(4).map((n) => idempotencyFor(`${n}`));
  const insert = ({ repository }: Opened, some: typeof keys) =>
    Promise.all(some.map((key) => repository.insertOnce(rex, key)));
  const known = await insert(other, keys.slice(0, 3));
  await insertMany(service, 1);
  const reads = service.sent('find');

  const [a, b, c, d] = await insert(service, keys);

  const replayed = known.map(({ pet }) => ({ pet, replayed: true }));
  expect([a, b, c]).toStrictEqual(replayed);
  expect(d).toStrictEqual({ pet: { id: 7n, ...rex }, replayed: false });
  // The others read the greatest id: before the insert, because another service has written, and after the collision.
  expect(service.sent('find')).toBe(reads + 3);
  expect(await pets.findOne({ _id: 7n })).toMatchObject({ op: expect.any(UUID) });
});

it.skipIf(mongo === undefined)(
  'a service ends because of a bug, and uses no id again, when the greatest id falls under the same primary',
  async () => {
    const { url, pets } = await freshDatabase(mongo!);
    const service = runService({ API_KEYS: KEY, DATABASE_URL: url });
    const address = `${await service.url()}/v1/pets`;
    const add = (key: string) =>
      ask(address, { body: '{"name":"Rex","categoryId":7}', headers: { 'idempotency-key': key } });
    for (const key of ['a', 'b', 'c']) expect(await add(key)).toMatchObject({ status: 201 });
    await pets.deleteMany({ _id: { $gt: 1n } });

    // The pet with this key is still there, so that the insert fails and the greatest id is read again.
    expect(await add('a')).toMatchObject({ status: 500 });
    expect(await service.logged('stopping because of a bug')).toMatchObject({
      err: { type: 'AssertionError', message: 'the greatest pet id fell from 3 to 1: pets were removed' },
    });
    expect(await service.ended).toStrictEqual(FAILED);
    expect(await pets.countDocuments()).toBe(1);
  },
);
