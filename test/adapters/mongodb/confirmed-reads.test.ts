import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { CommandStartedEvent, MongoClientOptions } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { MongoPetArchive } from '../../../src/adapters/mongodb/pet-archive.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import type { Member } from '../../failure/member.ts';
import { ReplicaSet } from '../../failure/replica-set.ts';
import { until } from '../../failure/until.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { openClient } from '../../support/mongo-database.ts';
import { startMongodProcess } from '../../support/mongod-process.ts';
import { sharedMongo } from '../../support/mongodb.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const soon = () => setImmediate(undefined);
const isConfirmation = ({ command }: CommandStartedEvent) => command['readConcern']?.level === 'linearizable';

// These tests freeze single mongod processes.
const none = (await sharedMongo())?.kind !== 'process';
const leftOut = none ? ' (left out: no mongod process)' : '';

describe.skipIf(none)(`reads from a replica set whose primary changes${leftOut}`, () => {
  let set: ReplicaSet;
  beforeAll(async () => {
    set = await ReplicaSet.start();
  });
  afterAll(() => set?.[Symbol.asyncDispose]());

  /** Two services. The second records its commands. */
  async function services(overrides: MongoClientOptions = {}) {
    await set.whole();
    const url = set.url(`test-${randomUUID()}`);
    await migrate(url);
    const first = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(first.close);
    const { client, db, reads, commands } = await openClient(url, overrides);
    return {
      first,
      pets: new MongoPetRepository(db, reads),
      keys: new MongoApiKeyRepository(db, reads),
      archive: new MongoPetArchive(db, reads),
      confirmations: () => commands.filter(isConfirmation).length,
      client,
      commands,
      url,
    };
  }

  /** Until the returned function is called, the member replicates new writes but hides them from majority reads. */
  async function holdBack(member: Member): Promise<() => Promise<void>> {
    const show = async () => {
      await member.admin({ configureFailPoint: 'disableSnapshotting', mode: 'off' });
      // The next committed entry advances the snapshot.
      await set.commits();
    };
    await member.admin({ configureFailPoint: 'disableSnapshotting', mode: 'alwaysOn' });
    onTestFinished(show);
    return show;
  }

  async function elect(member: Member): Promise<void> {
    await until('an election', async () => {
      await member.admin({ replSetStepUp: 1 }).catch(() => undefined);
      return (await member.hello())?.['isWritablePrimary'] === true ? true : undefined;
    });
  }

  async function electionTimeout(electionTimeoutMillis: number): Promise<void> {
    const primary = await set.primary();
    const { config } = await primary.admin({ replSetGetConfig: 1 });
    const settings = { ...config.settings, electionTimeoutMillis };
    const replSetReconfig = { ...config, version: Number(config.version) + 1, settings };
    await primary.admin({ replSetReconfig });
  }

  it.each(['another member', 'the same member again'])(
    'show every acknowledged write, even if the new primary does not show it yet: %s',
    async (which) => {
      const { first, pets, keys, archive, confirmations } = await services();
      const [old, [other]] = [await set.primary(), await set.secondaries()];
      const next = which === 'another member' ? other! : old;
      await first.pets.insert(rex);
      await pets.list({ limit: 10 });
      if (next === old) {
        await elect(other!);
        await pets.list({ limit: 10 });
      }
      const show = await holdBack(next);
      const { pet } = await first.pets.insertOnce(rex, idempotencyFor('a'));
      await first.keys.insert(aKey());
      const before = confirmations();

      await elect(next);
      const reading = Promise.all([
        pets.findById(pet.id),
        pets.list({ limit: 10 }),
        pets.list({ limit: 10, status: 'available', after: pet.id - 1n }),
        keys.findById(aKey().id),
        keys.list(),
        archive.greatestId(),
        archive.lastId(),
        archive.count(pet.id),
        archive.read(1n, 10),
      ]);
      const done = reading.then(() => true);
      await until('an answer or a confirmation', () =>
        confirmations() > before ? true : Promise.race([done, soon()]),
      );
      await show();

      const rexes = [{ id: 1n, ...rex }, pet];
      expect(await reading).toStrictEqual([
        pet,
        rexes,
        [pet],
        aKey(),
        [aKey()],
        2n,
        2n,
        2,
        [{ ...pet, idempotency: idempotencyFor('a') }],
      ]);
      expect(await pets.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
    },
  );

  it('are retried after waiting for a primary that does not show every acknowledged write yet', async () => {
    const { first, pets, keys, client, confirmations } = await services();
    const [old, [next, other]] = [await set.primary(), await set.secondaries()];
    await first.pets.insert(rex);
    await pets.list({ limit: 10 });
    const show = await holdBack(next!);
    const pet = await first.pets.insert(rex);
    await first.keys.insert(aKey());
    for (const member of [next!, other!]) await member.admin({ replSetFreeze: 60 });
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    client.on('topologyDescriptionChanged', ({ newDescription: { type } }) => {
      if (type === 'ReplicaSetNoPrimary') resolve();
    });
    await old.admin({ replSetStepDown: 60, secondaryCatchUpPeriodSecs: 0, force: true });
    await gone;
    const before = confirmations();

    const reading = Promise.all([
      pets.list({ limit: 10, after: pet.id - 1n }),
      keys.findById(aKey().id),
      pets.findById(pet.id),
    ]);
    await next!.admin({ replSetFreeze: 0 });
    await elect(next!);
    for (const member of [other!, old]) await member.admin({ replSetFreeze: 0 });
    const done = reading.then(() => true);
    await until('an answer or a confirmation', () =>
      confirmations() > before ? true : Promise.race([done, soon()]),
    );
    await show();

    expect(await reading).toStrictEqual([[pet], aKey(), pet]);
  });

  it('do not report a pet as missing on the word of a deposed primary that was frozen', async () => {
    const { first, url } = await services();
    await first.pets.insert(rex);
    const old = await set.primary();
    // A direct connection never learns of another primary.
    const direct = url
      .replace(/\/\/[^/]+/, `//${old.address}`)
      .replace(/replicaSet=\w+/, 'directConnection=true');
    const { client, db, reads } = await openClient(direct);
    const pets = new MongoPetRepository(db, reads, { timeoutMs: 5_000 });
    await pets.list({ limit: 10 });
    const sent = once(client, 'commandStarted');
    old.freeze();
    onTestFinished(() => old.thaw());
    // In the first minute of a set, its secondaries may not replicate from each other at once.
    await set.commits();
    const pet = await first.pets.insert(rex);
    const finding = pets.findById(pet.id).catch((error: unknown) => error);
    // Nothing is sent if the client has found out meanwhile that the member is frozen.
    await Promise.race([sent, finding]);
    old.thaw();

    const found = await finding;
    const isUnavailable = found instanceof StorageUnavailable;
    expect(isUnavailable ? pet : found).toStrictEqual(pet);
    await set.whole();
  });

  it('are confirmed one by one while most members are not visible', async () => {
    // The client misses a frozen member after both times.
    const { first, pets, client } = await services({
      heartbeatFrequencyMS: 500,
      connectTimeoutMS: 500,
    });
    await first.pets.insert(rex);
    await pets.list({ limit: 10 });
    const others = await set.secondaries();
    // Otherwise the primary steps down before the client misses the other members.
    await electionTimeout(60_000);
    for (const member of others) member.freeze();
    onTestFinished(async () => {
      for (const member of others) member.thaw();
      await electionTimeout(1_000);
    });
    const { promise: confirming, resolve } = Promise.withResolvers<true>();
    client.on('commandStarted', (event) => isConfirmation(event) && resolve(true));
    // A read that needs a confirmation waits for the frozen members.
    await until('a confirmation', () => {
      const reading = pets.list({ limit: 10 }).then(
        () => undefined,
        () => undefined,
      );
      return Promise.race([confirming, reading]);
    });
    for (const member of others) member.thaw();
    expect(await pets.list({ limit: 10 })).toHaveLength(1);
    await set.whole();
  });
});

describe.skipIf(none)(`reads from a MongoDB without a replica set${leftOut}`, () => {
  it('need no confirmation', async () => {
    const mongod = await startMongodProcess();
    onTestFinished(mongod.stop);
    const url = `mongodb://127.0.0.1:${mongod.port}/petstore`;
    await migrate(url);
    const { pets, keys, probe, close } = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(close);
    await probe.check();
    const pet = await pets.insert(rex);
    expect(await pets.findById(pet.id)).toStrictEqual(pet);
    expect(await pets.findById(99n)).toBeUndefined();
    expect(await pets.list({ limit: 10 })).toStrictEqual([pet]);
    await keys.insert(aKey());
    expect(await keys.findById(aKey().id)).toStrictEqual(aKey());
    const source = await openMongoArchive(url);
    onTestFinished(source.close);
    expect(await source.archive.lastId()).toBe(1n);

    const { db, reads, commands } = await openClient(url);
    const watched = new MongoPetRepository(db, reads);
    await watched.list({ limit: 10 });
    commands.length = 0;
    await watched.findById(99n);
    expect(commands).toHaveLength(1);
  });
});
