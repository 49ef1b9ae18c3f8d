import { type Document, Double, UUID } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { NewPet } from '../../../src/domain/pet.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { ask, KEY } from '../../support/client.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { databasePool, freshDatabase, openRepository, throughProxy } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { aPet, rex } from '../../support/pets.ts';
import { FAILED, runService } from '../../support/process.ts';

/** A pet that a test inserts without a repository. It stands for a pet of another service. */
const foreignPet = aPet({ name: 'Tom', categoryId: 8n, status: 'sold' });
const emptyDatabase = databasePool(() => mongo!);

/**
 * Opens a repository, which stands for a service. Inserts a pet, so that the repository knows the greatest id.
 * Each entry of `sentIds` has the ids in one insert command.
 */
async function openWithPet(url: string, timeoutMs?: number) {
  const service = await openRepository(url, timeoutMs);
  const sentIds: number[][] = [];
  service.client.on('commandStarted', ({ commandName, command }) => {
    if (commandName !== 'insert') return;
    expect(command['ordered']).toBe(true);
    sentIds.push(command['documents'].map(({ _id }: Document) => Number(_id)));
  });
  await service.repository.insert(rex);
  return { ...service, sentIds };
}

type Service = Awaited<ReturnType<typeof openWithPet>>;

/** Inserts pets at the same time, and returns their ids. */
const insertMany = async ({ repository }: Service, count: number) => {
  const stored = await Promise.all(numbers(count).map(() => repository.insert(rex)));
  return stored.map(({ id }) => Number(id));
};

/** Opens a service that reaches MongoDB through a proxy, and that has stored the pet 1. */
async function openThroughProxy(options: Record<string, number> = {}, timeoutMs?: number) {
  const database = await freshDatabase(mongo!);
  const { url, proxy } = await throughProxy(database.url, options);
  const service = await openWithPet(url, timeoutMs);
  return { ...database, proxy, service };
}

describe.skipIf(mongo === undefined)(`the ids of new pets in MongoDB${noMongo}`, () => {
  it('have no gaps when waiting inserts share commands of at most 1,000 pets', async () => {
    const { service, proxy } = await openThroughProxy();
    const findsBefore = service.sent('find');
    const heldInsert = proxy.hold('insert');
    const firstIds = insertMany(service, 3);
    const forwardInsert = await heldInsert;
    const laterIds = insertMany(service, 1_005);
    forwardInsert();

    expect([...(await firstIds), ...(await laterIds)]).toStrictEqual(numbers(1_008).map((n) => n + 2));
    expect(service.sentIds.map(({ length }) => length)).toStrictEqual([1, 3, 1_000, 5]);
    expect(service.sent('find')).toBe(findsBefore);
  });

  it('continue after the ids of other services, and a service backs off after a collision until no other service inserts', async () => {
    const { url, pets, service, proxy } = await openThroughProxy();
    const otherService = await openWithPet(url);
    const findsBefore = service.sent('find');
    expect(await insertMany(service, 2)).toStrictEqual([3, 4]);
    const heldFind = proxy.hold('find');
    const nextIds = insertMany(service, 2);
    const forwardFind = await heldFind;
    await pets.insertOne({ _id: 5n, ...foreignPet });
    expect(await insertMany(otherService, 1)).toStrictEqual([6]);
    forwardFind();
    expect(await nextIds).toStrictEqual([7, 8]);
    await insertMany(service, 1);
    await insertMany(service, 1);
    expect(service.sentIds).toStrictEqual([[1], [2, 3], [3, 4], [7, 8], [9], [10]]);
    // A service that backs off waits, and then reads the greatest id before its next insert. The three reads follow the
    // collision at the id 2, the back-off after the insert of 3 and 4, and the back-off after the insert of 7 and 8.
    // The last read finds no new pet of another service, so the service does not back off again.
    expect(service.sent('find')).toBe(findsBefore + 3);
  });

  it.each<readonly [description: string, _id: unknown, newIds: readonly number[]]>([
    ['the double 2', new Double(2), [3, 4]],
    ['the double 1.5', new Double(1.5), [2, 3]],
  ])('are greater than an existing _id that is %s instead of a long', async (_, _id, newIds) => {
    const { url, db } = await emptyDatabase();
    const runningService = await openWithPet(url);
    const document: Document = { _id, ...foreignPet };
    await db.collection('pets').insertOne(document, { bypassDocumentValidation: true });
    const { repository } = await openRepository(url);

    const [newPet, laterIds] = [await repository.insert(rex), await insertMany(runningService, 1)];
    expect([Number(newPet.id), ...laterIds]).toStrictEqual(newIds);
  });

  it('are kept by a second attempt for the pets that the first attempt has stored', async () => {
    const { pets, service, proxy } = await openThroughProxy();
    await pets.insertOne({ _id: 4n, ...foreignPet });
    proxy.loseReplies('insert', 1);

    const outcomes = await Promise.all(
      numbers(5).map((n) => service.repository.insertOnce(rex, idempotencyFor(`${n}`))),
    );

    expect(outcomes).toStrictEqual(
      [2n, 3n, 5n, 6n, 7n].map((id) => ({ pet: { id, ...rex }, replayed: false })),
    );
    // The second attempt tries to insert fences (documents that reserve an id) at 2 and 4. Both ids are already taken:
    // 2 by the pet of the first attempt, and 4 by the foreign pet.
    expect(service.sentIds).toStrictEqual([[1], [2, 3, 4, 5, 6], [2], [4], [5, 6, 7]]);
    expect(await pets.countDocuments()).toBe(7);
  });

  it('stay the same when an insert is sent again after 5 s without a reply', async () => {
    const { pets, service, proxy } = await openThroughProxy();
    // Only the timers of the adapter are fake. The driver imports its timers from `node:timers`, so they stay real.
    fakeClock('setTimeout', 'clearTimeout');
    const heldInsert = proxy.hold('insert');
    const ids = insertMany(service, 2);
    const forwardInsert = await heldInsert;
    await vi.advanceTimersByTimeAsync(4_999);
    expect(service.sentIds).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    await expect.poll(() => service.sentIds).toHaveLength(3);

    expect(await ids).toStrictEqual([2, 3]);
    forwardInsert();
    expect(await insertMany(service, 1)).toStrictEqual([4]);
    expect(service.sentIds).toStrictEqual([[1], [2, 3], [2, 3], [4]]);
    expect(await pets.countDocuments()).toBe(4);
  });

  it('are assigned in the order of the inserts, even if the read after a collision has no reply', async () => {
    const { pets, service, proxy } = await openThroughProxy({ socketTimeoutMS: 0 });
    await pets.insertOne({ _id: 2n, ...foreignPet });
    fakeClock('setTimeout', 'clearTimeout');
    const heldFind = proxy.hold('find');
    const olderId = insertMany(service, 1);
    await heldFind;
    await vi.advanceTimersByTimeAsync(1);
    const newerId = insertMany(service, 1);
    await vi.advanceTimersByTimeAsync(4_999);
    await expect.poll(() => service.sentIds.at(-1)).toStrictEqual([3, 4]);

    expect([await olderId, await newerId]).toStrictEqual([[3], [4]]);
  });

  it('are not assigned to waiting inserts that time out, so these inserts store nothing', async () => {
    const { pets, service, proxy } = await openThroughProxy({}, 1_000);
    const heldInsert = proxy.hold('insert');
    const sentInsert = insertMany(service, 1);
    const forwardInsert = await heldInsert;
    const waitingInserts = numbers(49).map(() => insertMany(service, 1));
    for (const outcome of await Promise.allSettled([sentInsert, ...waitingInserts])) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageUnavailable) });
    }
    forwardInsert();
    await expect.poll(() => pets.countDocuments()).toBe(2);

    expect(await insertMany(service, 1)).toStrictEqual([3]);
    expect(await pets.countDocuments()).toBe(3);
  });
});

it.skipIf(mongo === undefined)(
  'concurrent inserts into MongoDB with one idempotency key share one document, which is stored or refused for all of them',
  async () => {
    const { url } = await emptyDatabase();
    const service = await openWithPet(url);
    const insertFive = (pet: NewPet, key: string) =>
      Promise.allSettled(numbers(5).map(() => service.repository.insertOnce(pet, idempotencyFor(key))));
    const fiveTimes = (outcome: object) => Array.from({ length: 5 }, () => expect.objectContaining(outcome));

    expect(await insertFive(rex, 'a')).toStrictEqual(fiveTimes({ status: 'fulfilled' }));
    const refusals = fiveTimes({ reason: expect.any(StorageSetupError) });
    expect(await insertFive({ ...rex, name: '' }, 'b')).toStrictEqual(refusals);
    expect(service.sentIds).toStrictEqual([[1], [2], [3]]);
  },
);

it.skipIf(mongo === undefined)('one read finds the pets of many idempotency keys in MongoDB', async () => {
  const { url, pets } = await emptyDatabase();
  const [service, otherService] = [await openWithPet(url), await openWithPet(url)];
  const keys = numbers(4).map((n) => idempotencyFor(`${n}`));
  const insertWithKeys = ({ repository }: Service, chosenKeys: typeof keys) =>
    Promise.all(chosenKeys.map((key) => repository.insertOnce(rex, key)));
  const earlierOutcomes = await insertWithKeys(otherService, keys.slice(0, 3));
  await insertMany(service, 1);
  const findsBefore = service.sent('find');

  const outcomes = await insertWithKeys(service, keys);

  const replays = earlierOutcomes.map(({ pet }) => ({ pet, replayed: true }));
  expect(outcomes.slice(0, 3)).toStrictEqual(replays);
  expect(outcomes[3]).toStrictEqual({ pet: { id: 7n, ...rex }, replayed: false });
  // The first find reads the greatest id before the insert, because the ids of this service collided with the ids of
  // the other service. After the insert is rejected, one find looks for the four keys, and one reads the greatest id.
  expect(service.sent('find')).toBe(findsBefore + 3);
  expect(await pets.findOne({ _id: 7n })).toMatchObject({ op: expect.any(UUID) });
});

it.skipIf(mongo === undefined)(
  'a service logs a bug, stops, and stores no further pet when it finds that pets were removed from MongoDB',
  async () => {
    const { url, pets } = await freshDatabase(mongo!);
    const service = runService({ API_KEYS: KEY, DATABASE_URL: url });
    const address = `${await service.url()}/v1/pets`;
    const add = (key: string) =>
      ask(address, { body: '{"name":"Rex","categoryId":7}', headers: { 'idempotency-key': key } });
    for (const key of ['a', 'b', 'c']) expect(await add(key)).toMatchObject({ status: 201 });
    await pets.deleteMany({ _id: { $gt: 1n } });

    // The pet with the key "a" was not removed, so the insert fails, and the service reads the greatest id again.
    expect(await add('a')).toMatchObject({ status: 500 });
    expect(await service.logged('stopping because of a bug')).toMatchObject({
      err: { type: 'AssertionError', message: 'the greatest pet id fell from 3 to 1: pets were removed' },
    });
    expect(await service.ended).toStrictEqual(FAILED);
    expect(await pets.countDocuments()).toBe(1);
  },
);
