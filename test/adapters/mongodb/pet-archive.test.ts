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
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { rex } from '../../support/pets.ts';

const emptyDatabase = databasePool(() => mongo!);

describe.skipIf(mongo === undefined)(`an archive in MongoDB${leftOut}`, () => {
  it('counts pets for up to ten minutes, longer than a service allows a socket to be silent', async () => {
    const { url } = await emptyDatabase();
    const { url: proxyUrl, proxy } = await throughProxy(url);
    const archive = await archiveOf(proxyUrl);
    using limitSocket = vi.spyOn(Socket.prototype, 'setTimeout');
    const clock = fakeClock('setTimeout', 'clearTimeout');
    const held = proxy.hold('aggregate');
    const counting = archive.count(1n);
    const release = await held;
    clock.advance(599_000);
    release();
    expect(await counting).toBe(0);
    // The monitor of the server has a limit of its own.
    expect(limitSocket).not.toHaveBeenCalledWith(8_000);
  });

  it('reports a pet that the validator refuses as a refused record, not as an outage', async () => {
    const { url } = await emptyDatabase();
    const archive = await archiveOf(url);
    const [there, next] = archivedPets(2);
    await archive.write([there!]);
    const bad = { ...next!, name: 'x'.repeat(256) };
    await expect(archive.write([bad])).rejects.toThrow('a validator of MongoDB refuses a record');
    await expect(archive.write([there!, bad])).rejects.toThrow('a validator of MongoDB');
  });

  const fence = (_id: number, upTo: bigint) => ({ _id, upTo });

  async function besideService() {
    const { url, db, pets } = await emptyDatabase();
    const { repository } = await openRepository(url);
    await repository.insert(rex);
    const archive = await archiveOf(url);
    const next = async () => (await repository.insert(rex)).id;
    const fences = () => pets.find({ upTo: { $exists: true } }, { sort: { _id: 1 } }).toArray();
    return { url, db, pets, archive, repository, next, fences };
  }

  it.each([
    ['one reservation', [500n]],
    ['a smaller reservation after a greater one', [500n, 70n]],
  ])('makes fences that immediately reserve ids for running services: %s', async (_, reserved) => {
    const { archive, next, fences, pets } = await besideService();
    for (const id of reserved) await archive.reserve(id);

    expect(await fences()).toStrictEqual([fence(2, 500n), fence(500, 500n)]);
    expect(await pets.countDocuments()).toBe(3);
    expect(await next()).toBe(501n);
    expect(await archive.greatestId()).toBe(501n);
  });

  it.each([
    ['to the same id', 500n, [fence(2, 500n), fence(500, 500n)], 501n],
    ['to a greater id', 600n, [fence(2, 500n), fence(500, 500n), fence(501, 600n), fence(600, 600n)], 601n],
  ])('makes fences that complete an interrupted reservation: %s', async (_, id, expected, first) => {
    const { url, db, archive, repository, next, fences } = await besideService();
    await putFence(db, 2n, 500n);
    // It learns of the fence, and stores nothing.
    await expect(repository.insert({ ...rex, name: '' })).rejects.toThrow('a validator');
    const { repository: another } = await openRepository(url);
    await expect(another.insert({ ...rex, name: '' })).rejects.toThrow('a validator');
    await archive.reserve(id);

    expect(await fences()).toStrictEqual(expected);
    expect(await next()).toBe(first);
    expect((await another.insert(rex)).id).toBe(first + 1n);
  });

  it('makes fences that are replaced by pets with their ids', async () => {
    const { archive, next, fences } = await besideService();
    await archive.reserve(4n);
    const written = [2n, 3n, 4n].map((id) => anArchivedPet({ id }));
    await archive.write(written);

    expect(await fences()).toStrictEqual([]);
    expect(await archive.read(1n, 10)).toStrictEqual(written);
    expect(await next()).toBe(5n);
  });

  it('makes fences that stay if the pet cannot be written', async () => {
    const { archive, fences } = await besideService();
    await archive.reserve(4n);
    const idempotency = idempotencyFor('a');
    await archive.write([anArchivedPet({ id: 3n, idempotency })]);

    const writing = archive.write([anArchivedPet({ id: 4n, idempotency })]);
    await expect(writing).rejects.toStrictEqual(new IdempotencyKeyTaken(4n));
    expect(await fences()).toStrictEqual([fence(2, 4n), fence(4, 4n)]);
  });

  it.each<readonly [string, Partial<ArchivedPet>, object]>([
    ['the same pet', {}, { status: 'fulfilled' }],
    ['another pet', { name: 'Tom' }, { status: 'rejected', reason: new PetIdTaken(4n) }],
  ])('finds that a fence has become a pet before its transaction begins: %s', async (_, fields, outcome) => {
    const { url } = await freshDatabase(mongo!);
    const { url: proxyUrl, proxy } = await throughProxy(url);
    const slow = await archiveOf(proxyUrl);
    const fast = await archiveOf(url);
    await fast.reserve(4n);
    const held = proxy.hold('delete');
    const writing = Promise.allSettled([slow.write([anArchivedPet({ id: 4n, ...fields })])]);
    const release = await held;
    await fast.write([anArchivedPet({ id: 4n })]);
    release();

    expect(await writing).toMatchObject([outcome]);
    expect(await fast.read(0n, 10)).toStrictEqual([anArchivedPet({ id: 4n })]);
  });
});

it.each([
  ['a pet with an idempotency key', { idempotency: idempotencyFor('a') }],
  ['a pet without an idempotency key', {}],
])('an archive in MongoDB writes a pet again until it is durable: %s', async (_, fields) => {
  const pet = anArchivedPet({ id: 1n, ...fields });
  const majorityHas = [[], [toPetDocument(pet, pet.idempotency)]];
  let writes = 0;
  const clock = fakeClock('setTimeout', 'clearTimeout');
  const pets = {
    async insertMany() {
      writes++;
      // Together a minute: so long the server keeps the transaction of a killed import.
      clock.advance(20_000);
      // The first one has waited for a majority in vain.
      const [code, writeErrors] = writes === 1 ? [64, []] : [11_000, [{ code: 11_000, index: 0 }]];
      const error = new MongoBulkWriteError({ message: 'not durable', code }, {} as BulkWriteResult);
      throw Object.assign(error, { writeErrors });
    },
    find: () => ({ toArray: async () => majorityHas.shift() }),
    // No other pet has the key.
    findOne: async (filter: Document) => ('idem.k' in filter && '_id' in filter ? null : { _id: 2 }),
  };
  const db = { client: new EventEmitter(), collection: () => pets } as unknown as Db;

  await new MongoPetArchive(db, new ConfirmedReads(db)).write([pet]);

  expect([writes, majorityHas]).toStrictEqual([3, []]);
});

/** The archive of a command, which ends with the test. */
async function archiveOf(url: string) {
  const { archive, close } = await openMongoArchive(url);
  onTestFinished(close);
  return archive;
}
