import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { type BulkWriteResult, type Db, type Document, MongoBulkWriteError } from 'mongodb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';
import { openMongoArchive } from '../../../src/adapters/mongodb/open.ts';
import { MongoPetArchive } from '../../../src/adapters/mongodb/pet-archive.ts';
import { toPetDocument } from '../../../src/adapters/mongodb/pet-document.ts';
import { IdempotencyKeyTaken, PetIdTaken } from '../../../src/application/maintenance/errors.ts';
import type { ArchivedPet } from '../../../src/application/ports/pet-archive.ts';
import { anArchivedPet, archivedPets, idempotencyFor } from '../../support/archived-pets.ts';
import {
  databasePool,
  freshDatabase,
  openRepository,
  putFence,
  throughProxy,
} from '../../support/mongo-database.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { rex } from '../../support/pets.ts';

const emptyDatabase = databasePool(() => mongo!);

describe.skipIf(mongo === undefined)(`an archive in MongoDB${noMongo}`, () => {
  it('waits up to ten minutes for a count of the pets, although a service closes a socket after 8 s without data', async () => {
    const { url } = await emptyDatabase();
    const { url: proxyUrl, proxy } = await throughProxy(url);
    const archive = await openArchive(proxyUrl);
    using socketTimeouts = vi.spyOn(Socket.prototype, 'setTimeout');
    const clock = fakeClock('setTimeout', 'clearTimeout');
    const heldCount = proxy.hold('aggregate');
    const counting = archive.count(1n);
    const forwardCount = await heldCount;
    clock.advance(599_000);
    forwardCount();
    expect(await counting).toBe(0);
    // The driver also sets timeouts on the sockets of its monitor, but these timeouts are shorter than 8 s.
    expect(socketTimeouts).not.toHaveBeenCalledWith(8_000);
  });

  it('reports a pet that the validator refuses as a refused record, not as an outage', async () => {
    const { url } = await emptyDatabase();
    const archive = await openArchive(url);
    const [firstPet, secondPet] = archivedPets(2);
    await archive.write([firstPet!]);
    const invalidPet = { ...secondPet!, name: 'x'.repeat(256) };
    await expect(archive.write([invalidPet])).rejects.toThrow('a validator of MongoDB refuses a record');
    await expect(archive.write([firstPet!, invalidPet])).rejects.toThrow('a validator of MongoDB');
  });

  /** A fence is a document that is not a pet. A fence reserves the ids from its `_id` to `upTo`. */
  const fence = (_id: number, upTo: bigint) => ({ _id, upTo });

  /** Opens an archive, and the repository of a service on the same database. The service has stored the pet 1. */
  async function openBesideService() {
    const { url, db, pets } = await emptyDatabase();
    const { repository } = await openRepository(url);
    await repository.insert(rex);
    const archive = await openArchive(url);
    const insertNext = async () => (await repository.insert(rex)).id;
    const storedFences = () => pets.find({ upTo: { $exists: true } }, { sort: { _id: 1 } }).toArray();
    return { url, db, pets, archive, repository, insertNext, storedFences };
  }

  it.each([
    ['one reservation', [500n]],
    ['a reservation and then a smaller reservation', [500n, 70n]],
  ])('makes a running service skip the reserved ids immediately after %s', async (_, reservedIds) => {
    const { archive, insertNext, storedFences, pets } = await openBesideService();
    for (const id of reservedIds) await archive.reserve(id);

    // The first fence takes the next id of the service. The second fence takes the last reserved id.
    expect(await storedFences()).toStrictEqual([fence(2, 500n), fence(500, 500n)]);
    expect(await pets.countDocuments()).toBe(3);
    expect(await insertNext()).toBe(501n);
    expect(await archive.greatestId()).toBe(501n);
  });

  it.each([
    ['500', 500n, [fence(2, 500n), fence(500, 500n)], 501n],
    ['600', 600n, [fence(2, 500n), fence(500, 500n), fence(501, 600n), fence(600, 600n)], 601n],
  ])('completes a partial reservation up to 500 if it reserves up to %s', async (_, id, fences, nextId) => {
    const { url, db, archive, repository, insertNext, storedFences } = await openBesideService();
    // The partial reservation has only the first of its two fences.
    await putFence(db, 2n, 500n);
    // Both repositories find the fence by an insert that stores nothing, because its pet is invalid. They therefore
    // skip the ids up to 500 before the reservation is completed.
    await expect(repository.insert({ ...rex, name: '' })).rejects.toThrow('a validator');
    const { repository: secondRepository } = await openRepository(url);
    await expect(secondRepository.insert({ ...rex, name: '' })).rejects.toThrow('a validator');
    await archive.reserve(id);

    expect(await storedFences()).toStrictEqual(fences);
    expect(await insertNext()).toBe(nextId);
    expect((await secondRepository.insert(rex)).id).toBe(nextId + 1n);
  });

  it('replaces fences by the pets that it writes with the same ids', async () => {
    const { archive, insertNext, storedFences } = await openBesideService();
    await archive.reserve(4n);
    const writtenPets = [2n, 3n, 4n].map((id) => anArchivedPet({ id }));
    await archive.write(writtenPets);

    expect(await storedFences()).toStrictEqual([]);
    expect(await archive.read(1n, 10)).toStrictEqual(writtenPets);
    expect(await insertNext()).toBe(5n);
  });

  it('keeps a fence if the pet that would replace it cannot be written', async () => {
    const { archive, storedFences } = await openBesideService();
    await archive.reserve(4n);
    const idempotency = idempotencyFor('a');
    await archive.write([anArchivedPet({ id: 3n, idempotency })]);

    const writing = archive.write([anArchivedPet({ id: 4n, idempotency })]);
    await expect(writing).rejects.toStrictEqual(new IdempotencyKeyTaken(4n));
    expect(await storedFences()).toStrictEqual([fence(2, 4n), fence(4, 4n)]);
  });

  it.each<readonly [string, Partial<ArchivedPet>, object]>([
    ['accepts an equal pet', {}, { status: 'fulfilled' }],
    ['refuses a different pet', { name: 'Tom' }, { status: 'rejected', reason: new PetIdTaken(4n) }],
  ])('%s when another archive has just replaced the fence of its id by a pet', async (_, fields, outcome) => {
    const { url } = await freshDatabase(mongo!);
    const { url: proxyUrl, proxy } = await throughProxy(url);
    const slowArchive = await openArchive(proxyUrl);
    const fastArchive = await openArchive(url);
    await fastArchive.reserve(4n);
    const heldDelete = proxy.hold('delete');
    const writing = Promise.allSettled([slowArchive.write([anArchivedPet({ id: 4n, ...fields })])]);
    const forwardDelete = await heldDelete;
    // The slow archive has found the fence, but its command that deletes the fence is held.
    await fastArchive.write([anArchivedPet({ id: 4n })]);
    forwardDelete();

    expect(await writing).toMatchObject([outcome]);
    expect(await fastArchive.read(0n, 10)).toStrictEqual([anArchivedPet({ id: 4n })]);
  });
});

it.each([
  ['a pet with an idempotency key', { idempotency: idempotencyFor('a') }],
  ['a pet without an idempotency key', {}],
])('an archive in MongoDB writes %s again until a majority has the pet', async (_, fields) => {
  const pet = anArchivedPet({ id: 1n, ...fields });
  // The results of the two reads of what a majority has: only the second read shows the pet.
  const majorityReads = [[], [toPetDocument(pet, pet.idempotency)]];
  let writeCount = 0;
  const clock = fakeClock('setTimeout', 'clearTimeout');
  const pets = {
    async insertMany() {
      writeCount++;
      // The three writes take 60 s in total. The archive must retry at least as long, because a server keeps the
      // transaction of a killed import for 60 s.
      clock.advance(20_000);
      // The first write stores the pet, but its wait for a majority times out (code 64). MongoDB therefore rejects each
      // later write as a duplicate (code 11,000).
      const [code, writeErrors] = writeCount === 1 ? [64, []] : [11_000, [{ code: 11_000, index: 0 }]];
      const error = new MongoBulkWriteError({ message: 'not durable', code }, {} as BulkWriteResult);
      throw Object.assign(error, { writeErrors });
    },
    find: () => ({ toArray: async () => majorityReads.shift() }),
    // The query for another pet with the same idempotency key finds none. The only other query confirms the primary.
    findOne: async (filter: Document) => ('idem.k' in filter && '_id' in filter ? null : { _id: 2 }),
  };
  const db = { client: new EventEmitter(), collection: () => pets } as unknown as Db;

  await new MongoPetArchive(db, new ConfirmedReads(db)).write([pet]);

  expect([writeCount, majorityReads]).toStrictEqual([3, []]);
});

/** Opens an archive as a command does, and closes the archive when the test is finished. */
async function openArchive(url: string) {
  const { archive, close } = await openMongoArchive(url);
  onTestFinished(close);
  return archive;
}
