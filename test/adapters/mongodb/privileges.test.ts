import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { PARTLY_HIDDEN } from '../../../src/adapters/mongodb/schema/schema-problems.ts';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { Command, succeeds } from '../../support/command.ts';
import { failCommand } from '../../support/fail-point.ts';
import { type MongodProcess, startMongodProcess } from '../../support/mongod-process.ts';
import { sharedMongo } from '../../support/mongodb.ts';
import { openService } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { aPet } from '../../support/pets.ts';

const DATABASE = 'petstore';
const here = (...roles: readonly string[]) => roles.map((role) => ({ role, db: DATABASE }));

// mongodb-roles.test.ts has the privileges. Only a mongod process can be started with `--auth`.
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
    const collections = {
      pets: ['find', 'insert', 'listIndexes'],
      api_keys: ['find', 'update'],
      rate_limits: ['find', 'insert', 'update', 'listIndexes'],
      schema: ['find'],
    };
    const privileges = Object.entries(collections).map(([collection, actions]) => ({
      resource: { db: DATABASE, collection },
      actions,
    }));
    await db.command({ createRole: 'blind', privileges, roles: [] });
    await db.command({ createRole: 'heir', privileges: [], roles: here('readWrite') });
    const users = {
      migrator: here('readWrite', 'dbAdmin'),
      service: here('readWrite'),
      checker: here('read'),
      stranger: [],
      neighbour: [{ role: 'readWrite', db: 'another' }],
      blind: ['blind'],
      heir: ['heir'],
      anywhere: ['readWriteAnyDatabase'],
    };
    for (const [user, roles] of Object.entries(users)) {
      await db.command({ createUser: user, pwd: 'secret', roles });
    }
    await migrate(urlOf('migrator'));
  });
  afterAll(async () => {
    await admin?.close();
    await mongod?.stop();
  });

  it('are required in the URL, and the message about an unknown one names the database that has no such user', async () => {
    await expect(openService(`mongodb://127.0.0.1:${mongod.port}/${DATABASE}`)).rejects.toThrow(
      /: it requires a login: put USER:PASSWORD@ before the host/,
    );
    const wrong = urlOf('service').replace('secret', 'typo');
    await expect(openService(wrong)).rejects.toThrow(
      'no such user in the database "admin"; authSource names',
    );
  });

  it('need only the right to read for a check', async () => {
    const { stdout } = await succeeds(['check'], { DATABASE_URL: urlOf('checker') });
    expect(stdout).toMatch(/^checked \d+ pets? and \d+ API keys?\n$/);
  });

  it('make the storage immediately unavailable when a role is revoked or a password changes', async () => {
    const { pets, probe } = await openService(urlOf('service'));
    const users = admin.db('admin');
    const service = { updateUser: 'service' };
    onTestFinished(async () => {
      await users.command({ ...service, pwd: 'secret', roles: here('readWrite') });
    });
    const lists = () => numbers(20).map(() => pets.list({ limit: 1 }));
    const all = () =>
      Promise.allSettled([probe.check(), ...lists(), ...numbers(20).map(() => pets.insert(aPet()))]);

    await users.command({ ...service, roles: [] });
    for (const outcome of await all()) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageUnavailable) });
    }
    await users.command({ ...service, roles: here('readWrite') });
    await users.command({ ...service, pwd: 'another' });
    // Open connections stay authenticated. They are closed, and new ones are refused.
    const off = await failCommand(users, 'find', 'alwaysOn', { closeConnection: true });
    for (const outcome of await Promise.allSettled(lists())) {
      // Not the message of the deadline: such a call is not retried.
      const message = 'MongoDB is unavailable: AuthenticationFailed (18)';
      const reason = expect.objectContaining({ name: 'StorageUnavailable', message });
      expect(outcome).toStrictEqual({ status: 'rejected', reason });
    }
    await off();
    await users.command({ ...service, pwd: 'secret' });
    for (const outcome of await all()) expect(outcome).toMatchObject({ status: 'fulfilled' });
  });

  it('make the probe name their missing rights while they may only read, and reads continue', async () => {
    const { pets, probe } = await openService(urlOf('service'));
    const assign = (role: string) => admin.db('admin').command({ updateUser: 'service', roles: here(role) });
    onTestFinished(async () => void (await assign('readWrite')));
    await probe.check();

    await assign('read');
    await expect(probe.check()).rejects.toThrow(
      new StorageUnavailable(
        `the account of the database "${DATABASE}" may not insert on "pets", update on "api_keys", ` +
          'insert on "rate_limits", update on "rate_limits"; grant it these actions',
      ),
    );
    expect(await pets.list({ limit: 1 })).toBeInstanceOf(Array);
    await assign('readWrite');
    await probe.check();
  });

  const EVERY_RIGHT =
    'find on "pets", insert on "pets", listIndexes on "pets", find on "api_keys", update on "api_keys", ' +
    'find on "rate_limits", insert on "rate_limits", update on "rate_limits", listIndexes on "rate_limits", ' +
    'find on "schema"';
  it.each([
    ['checker', 'insert on "pets", update on "api_keys", insert on "rate_limits", update on "rate_limits"'],
    ['stranger', EVERY_RIGHT],
    ['neighbour', EVERY_RIGHT],
  ])('are refused at the start when they certainly lack a right: %s', async (user, missing) => {
    await expect(openService(urlOf(user))).rejects.toThrow(
      new StorageSetupError(
        `the account of the database "${DATABASE}" may not ${missing}; grant it these actions`,
      ),
    );
  });

  it.each([
    ['root', 0],
    ['heir', 0],
    ['anywhere', 0],
    ['blind', 1],
  ])(
    'can start a service when some role has the rights, and a warning is logged if they cannot see all of it: %s',
    async (user, lines) => {
      const warnings: string[] = [];
      const log = { warn: (line: string) => void warnings.push(line) };
      const { probe, pets } = await openService(urlOf(user), { log });
      await probe.check();
      await pets.insert(aPet());

      expect(warnings).toStrictEqual(Array.from({ length: lines }, () => PARTLY_HIDDEN));
    },
  );

  it('are refused a write without its right, and the message quotes no digest', async () => {
    const command = new Command(['keys', 'create', '--label', 'till'], { DATABASE_URL: urlOf('checker') });

    expect(await command.ended).toBe(1);
    expect(command.stderr).toBe(
      'petstore: MongoDB is unavailable: Unauthorized (13); the role readWrite has the rights of the service, and dbAdmin those of migrate besides\n',
    );
  });
});
