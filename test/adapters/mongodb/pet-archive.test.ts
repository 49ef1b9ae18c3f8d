import { EventEmitter } from 'node:events';
import { type BulkWriteResult, type Db, type Document, Double, MongoBulkWriteError } from 'mongodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';
import { openMongoArchive, openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { MongoPetArchive } from '../../../src/adapters/mongodb/pet-archive.ts';
import { toPetDocument } from '../../../src/adapters/mongodb/pet-document.ts';
import { PetIdTaken } from '../../../src/application/moving/errors.ts';
import { ExportPets } from '../../../src/application/moving/export-pets.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { petArchiveContract } from '../../contracts/pet-archive.ts';
import { anArchivedPet, archivedPets, idempotencyFor } from '../../support/archived-pets.ts';
import { failCommand } from '../../support/fail-point.ts';
import {
  addressOf,
  databasePool,
  freshDatabase,
  throughPort,
  withOptions,
} from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const emptyDatabase = databasePool(() => mongo!);

describe.skipIf(mongo === undefined)(`MongoDB${leftOut}`, () => {
  petArchiveContract('mongodb', async () => {
    const { url } = await emptyDatabase();
    const storage = await openMongoStorage(url, { autoMigrate: false });
    const { archive, close } = await openMongoArchive(url);
    return {
      archive,
      pets: storage.pets,
      async close() {
        await close();
        await storage.close();
      },
    };
  });

  it('stores pets in the form of the repository', async () => {
    const { url, pets } = await emptyDatabase();
    await using target = await opened(url);
    const [first, second] = archivedPets(2);
    await target.archive.write([first!, second!]);

    const { key: k, fingerprint: fp } = first!.idempotency!;
    const { idempotency: _, id: _id, ...fields } = first!;
    expect(await pets.find().sort({ _id: 1 }).toArray()).toStrictEqual([
      { _id, ...fields, idem: { k, fp } },
      { _id: second!.id, name: second!.name, categoryId: second!.categoryId, status: second!.status },
    ]);
  });

  it('ignores a counter that does not hold an id, and repairs it when it reserves ids', async () => {
    const { url, db, counters } = await emptyDatabase();
    await using target = await opened(url);
    for (const last of ['x', [7n], Infinity]) {
      await db.collection<{ _id: string }>('counters').updateOne({ _id: 'pets' }, { $set: { last } });
      expect(await target.archive.lastId()).toBe(0n);
      await target.archive.reserve(500n);
      expect(await counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: 500n }]);
    }
  });

  it('continues when the reply to a batch is lost', async () => {
    const { url } = await freshDatabase(mongo!);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    await using target = await opened(withOptions(throughPort(url, proxy.port), { retryWrites: false }));
    proxy.loseReplies('insert', 1);

    await target.archive.write(archivedPets(100));

    expect(proxy.repliesToLose).toBe(0);
    expect(await target.archive.read(0n, 200)).toStrictEqual(archivedPets(100));
    await proxy.close();
  });

  it.skipIf(mongo?.testCommands === false)('survives a failover during a write', async () => {
    const { url, db } = await freshDatabase(mongo!);
    await using target = await opened(withOptions(url, { retryWrites: false }));
    const NOT_PRIMARY = 10_107;
    await failCommand(db, 'insert', { times: 3 }, { errorCode: NOT_PRIMARY });
    await target.archive.write(archivedPets(100));
    expect(await target.archive.count(1000n)).toBe(100);
  });

  it('rejects with an error that is not an outage', async () => {
    const { url } = await emptyDatabase();
    await using target = await opened(url);
    const [there, next] = archivedPets(2);
    await target.archive.write([there!]);
    const bad = { ...next!, name: 'x'.repeat(256) };
    await expect(target.archive.write([bad])).rejects.toThrow('Document failed validation');
    await expect(target.archive.write([there!, bad])).rejects.toMatchObject({
      writeErrors: [{ code: 11_000 }, { code: 121 }],
    });
  });

  it.each<readonly [string, number | Double]>([
    ['an int', 3],
    ['a double', new Double(3)],
  ])('overwrites no document that is not a pet, though its _id is equal: %s', async (_, _id) => {
    const { url, db } = await freshDatabase(mongo!);
    await using target = await opened(url);
    const third = { name: 'Rex', categoryId: 7n, status: 'sold' } as const;
    const document = { ...third, _id } as unknown as Document;
    await db.collection('pets').insertOne(document, { bypassDocumentValidation: true });

    await expect(target.archive.write([{ id: 3n, ...third }])).rejects.toMatchObject(new PetIdTaken(3n));
  });

  it.each(['behind the reader', 'ahead of it'])(
    'exports every pet when an insert that has its id already hangs, and ends %s',
    async (where) => {
      const { url } = await freshDatabase(mongo!);
      const proxy = await new TcpProxy(addressOf(url)).listen();
      onTestFinished(() => proxy.close());
      const slow = await openMongoStorage(throughPort(url, proxy.port), { autoMigrate: false });
      onTestFinished(slow.close);
      const service = await openMongoStorage(url, { autoMigrate: false });
      onTestFinished(service.close);
      await using source = await opened(url);
      const rex = newPet({ name: 'Rex', categoryId: 7n });
      if (where === 'ahead of it') await source.archive.write(archivedPets(2500));
      await source.archive.reserve(await source.archive.greatestId());
      const holding = proxy.hold('insert');
      const hanging = slow.pets.insert(rex);
      const release = await holding;
      const acknowledged = await service.pets.insert(rex);

      const batches = new ExportPets(source.archive).execute(() => {});
      // The second of three batches is being read now.
      const exported = [...((await batches.next()).value ?? [])];
      release();
      const late = await hanging;
      exported.push(...(await Array.fromAsync(batches)).flat());

      expect(late.id).toBe(acknowledged.id - 1n);
      const there = where === 'ahead of it' ? [...archivedPets(2500), late, acknowledged] : [acknowledged];
      expect(exported).toStrictEqual(there);
      const further = (await Array.fromAsync(new ExportPets(source.archive).execute(() => {}))).flat();
      expect(further).toStrictEqual(there.includes(late) ? there : [late, acknowledged]);
    },
  );

  it('shares the counter with running services', async () => {
    const { url } = await emptyDatabase();
    const service = await openMongoStorage(url, { autoMigrate: false });
    await using target = await opened(url);
    await service.pets.insert(newPet({ name: 'Rex', categoryId: 7n }));
    await target.archive.reserve(500n);
    const next = await service.pets.insert(newPet({ name: 'Tom', categoryId: 7n }));
    expect(next.id).toBe(501n);
    await service.close();
  });

  it('knows the greatest id after the counter was set back', async () => {
    const { url, counters } = await emptyDatabase();
    await using target = await opened(url);
    await target.archive.write(archivedPets(3));
    await counters.updateOne({ _id: 'pets' }, { $set: { last: 1n } });
    expect(await target.archive.lastId()).toBe(3n);
  });
});

it.each([
  ['with an idempotency key', { idempotency: idempotencyFor('a') }],
  ['without one', {}],
])('a pet that is there is written again until it is durable: %s', async (_, fields) => {
  const pet = anArchivedPet({ id: 1n, ...fields });
  const majorityHas = [[], [toPetDocument(pet, pet.idempotency)]];
  let writes = 0;
  const pets = {
    async insertMany() {
      writes++;
      const error = new MongoBulkWriteError({ message: 'duplicate', code: 11_000 }, {} as BulkWriteResult);
      throw Object.assign(error, { writeErrors: [{ code: 11_000, index: 0 }] });
    },
    find: () => ({ toArray: async () => majorityHas.shift() }),
    // No other pet has the key.
    findOne: async (filter: Document) => ('idem.k' in filter && '_id' in filter ? null : { _id: 2 }),
  };
  const db = { client: new EventEmitter(), collection: () => pets } as unknown as Db;

  await new MongoPetArchive(db, new ConfirmedReads(db)).write([pet]);

  expect([writes, majorityHas]).toStrictEqual([2, []]);
});

async function opened(url: string) {
  const target = await openMongoArchive(url);
  return { ...target, [Symbol.asyncDispose]: () => target.close() };
}
