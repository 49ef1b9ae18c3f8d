import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { fileWith } from '../../support/archives.ts';
import { refused, succeeds } from '../../support/command.ts';
import { failCommand } from '../../support/fail-point.ts';
import { type MongodProcess, startMongodProcess } from '../../support/mongod-process.ts';
import { sharedMongo } from '../../support/mongodb.ts';

const DATABASE = 'petstore';
const at = new Date(1_797_000_000_001);

/** The privileges of the service and of imports, as in docs/storage.md. */
const WRITES = ['find', 'insert', 'update'];
const NEEDED = {
  service: {
    pets: ['find', 'insert', 'listIndexes'],
    api_keys: WRITES,
    rate_limits: [...WRITES, 'listIndexes'],
    schema: ['find'],
  },
  importer: { pets: ['find', 'insert', 'remove'], api_keys: WRITES, schema: ['find'] },
};

// Only a mongod process can be started with `--auth`.
const none = (await sharedMongo())?.kind !== 'process';

describe.skipIf(none)(`the users of a MongoDB${none ? ' (left out: no mongod process)' : ''}`, () => {
  let mongod: MongodProcess;
  let admin: MongoClient;

  const urlOf = (user: string) =>
    `mongodb://${user}:secret@127.0.0.1:${mongod.port}/${DATABASE}?authSource=admin`;

  beforeAll(async () => {
    mongod = await startMongodProcess(['--auth', '--setParameter', 'enableTestCommands=1']);
    // The localhost exception allows the first user to be created without credentials.
    const first = new MongoClient(`mongodb://127.0.0.1:${mongod.port}`);
    await first.db('admin').command({ createUser: 'root', pwd: 'secret', roles: ['root'] });
    await first.close();
    admin = await new MongoClient(urlOf('root')).connect();
    const db = admin.db('admin');
    for (const [user, needed] of Object.entries(NEEDED)) {
      const privileges = Object.entries(needed).map(([collection, actions]) => ({
        resource: { db: DATABASE, collection },
        actions,
      }));
      await db.command({ createRole: user, privileges, roles: [] });
      await db.command({ createUser: user, pwd: 'secret', roles: [user] });
    }
    const roles = ['readWrite', 'dbAdmin'].map((role) => ({ role, db: DATABASE }));
    await db.command({ createUser: 'migrator', pwd: 'secret', roles });
    const readOnly = [{ role: 'read', db: DATABASE }];
    await db.command({ createUser: 'checker', pwd: 'secret', roles: readOnly });
  });
  afterAll(async () => {
    await admin?.close();
    await mongod?.stop();
  });

  it('need to read only, to check', async () => {
    await migrate(urlOf('migrator'));
    const { stdout } = await succeeds(['check'], { DATABASE_URL: urlOf('checker') });
    expect(stdout).toMatch(/^checked \d+ pets? and \d+ API keys?\n$/);
  });

  it('need these privileges only, to migrate and to serve', async () => {
    await migrate(urlOf('migrator'));
    await migrate(urlOf('migrator'));

    const { pets, keys, limiter, probe, close } = await openMongoStorage(urlOf('service'), {
      autoMigrate: false,
    });
    onTestFinished(close);
    await probe.check();
    const rex = await pets.insertOnce(newPet({ name: 'Rex', categoryId: 7n }), {
      key: 'k',
      fingerprint: 'f',
    });
    expect(await pets.findById(rex.pet.id)).toStrictEqual(rex.pet);
    expect(await pets.list({ limit: 10 })).toStrictEqual([rex.pet]);
    await keys.insert(aKey());
    await keys.insert(aKey());
    await keys.recordUse(new Map([[aKey().id, at]]));
    const aDay = { requests: 1, seconds: 86_400 };
    expect(await limiter.take('tom', aDay)).toMatchObject({ allowed: true });
    expect(await limiter.take('tom', aDay)).toMatchObject({ allowed: false });
    // Waits for the next window, which replaces the first.
    const aSecond = { requests: 1, seconds: 1 };
    expect(await limiter.take('tom', aSecond)).toMatchObject({ allowed: true });
    await expect.poll(async () => (await limiter.take('tom', aSecond)).allowed).toBe(true);

    const commandLine = await openMongoArchive(urlOf('service'));
    onTestFinished(() => commandLine.close());
    await commandLine.keys.expire(aKey().id, at);
    const revoked = await commandLine.keys.revoke(aKey().id, at);
    expect(revoked).toStrictEqual({ ...aKey(), lastUsedAt: at, expiresAt: at, revokedAt: at });
    expect(await commandLine.keys.list()).toStrictEqual([revoked]);
  });

  it('need to remove documents of pets, to import into reserved ids', async () => {
    await migrate(urlOf('migrator'));
    await admin.db(DATABASE).collection('pets').deleteMany({});
    const { stdout } = await succeeds(['skip-ids', urlOf('service'), '--json']);
    const { upTo } = JSON.parse(stdout) as { upTo: number };
    const pet = `"name":"Rex","categoryId":7,"status":"available"`;
    const file = await fileWith(`{"id":${upTo - 1},${pet}}\n{"id":${upTo},${pet}}\n`);

    await refused(['import', file, '--to', urlOf('service')], /not authorized on petstore/);
    const imported = await succeeds(['import', file, '--to', urlOf('importer')]);
    expect(imported.stdout).toMatch(/^imported 2 pets; /);
  });

  it('make the storage unavailable at once when a role is revoked or a password changes', async () => {
    await migrate(urlOf('migrator'));
    const { pets, probe, close } = await openMongoStorage(urlOf('service'), { autoMigrate: false });
    onTestFinished(close);
    const users = admin.db('admin');
    const service = { updateUser: 'service' };
    onTestFinished(async () => {
      await users.command({ ...service, pwd: 'secret', roles: ['service'] });
    });
    const all = () =>
      Promise.allSettled([
        probe.check(),
        ...Array.from({ length: 20 }, () => pets.list({ limit: 1 })),
        ...Array.from({ length: 20 }, () => pets.insert(newPet({ name: 'Rex', categoryId: 7n }))),
      ]);

    await users.command({ ...service, roles: [] });
    for (const outcome of await all()) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageUnavailable) });
    }
    await users.command({ ...service, roles: ['service'] });
    await users.command({ ...service, pwd: 'another' });
    // Open connections stay authenticated. They are closed, and new ones are refused.
    const off = await failCommand(users, 'find', 'alwaysOn', { closeConnection: true });
    const lists = await Promise.allSettled(Array.from({ length: 20 }, () => pets.list({ limit: 1 })));
    for (const outcome of lists) {
      // Not the message of the deadline: such a call is not retried.
      const message = 'MongoDB is unavailable: Authentication failed.';
      const reason = expect.objectContaining({ name: 'StorageUnavailable', message });
      expect(outcome).toStrictEqual({ status: 'rejected', reason });
    }
    await off();
    await users.command({ ...service, pwd: 'secret' });
    for (const outcome of await all()) expect(outcome).toMatchObject({ status: 'fulfilled' });
  });

  it('are told when they lack the privilege to list indexes', async () => {
    await migrate(urlOf('migrator'));
    await admin.db('admin').command({ createUser: 'reader', pwd: 'secret', roles: [] });

    await expect(openMongoStorage(urlOf('reader'), { autoMigrate: false })).rejects.toThrow(
      new RegExp(
        `^MongoDB at 127\\.0\\.0\\.1:${mongod.port}, database "petstore": ` +
          'not authorized on petstore to execute command (find|listIndexes)$',
      ),
    );
  });

  it('cannot delete anything as the service', async () => {
    const service = await new MongoClient(urlOf('service')).connect();
    onTestFinished(() => service.close());
    for (const name of Object.keys(NEEDED.service)) {
      await expect(service.db().collection(name).deleteMany({}), name).rejects.toMatchObject({ code: 13 });
      await expect(service.db().collection(name).drop(), name).rejects.toMatchObject({ code: 13 });
    }
  });
});
