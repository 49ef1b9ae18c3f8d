import { type Db, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { PRIVILEGES_WARNING } from '../../../src/adapters/mongodb/schema/schema-problems.ts';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { Command, runCommand } from '../../support/command.ts';
import { failCommand } from '../../support/fail-point.ts';
import { type MongodProcess, startMongodProcess } from '../../support/mongod-process.ts';
import { sharedMongo } from '../../support/mongodb.ts';
import { openService } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { aPet } from '../../support/pets.ts';

const DATABASE = 'petstore';
const petstoreRoles = (...roles: readonly string[]) => roles.map((role) => ({ role, db: DATABASE }));

// The tests start a mongod process with `--auth`. They are left out if the tests use a MongoDB in a container, because
// this machine may then have no mongod program.
// test/deploy/mongodb-roles.test.ts tests the roles that an operator creates.
const skipNote = (await sharedMongo())?.kind === 'process' ? '' : ' (left out: no mongod process)';

describe.skipIf(skipNote !== '')(`the users of a MongoDB${skipNote}`, () => {
  let mongod: MongodProcess;
  /** The database "admin", in which MongoDB keeps the users. The user "root" is logged in. */
  let adminDb: Db;

  const urlOf = (user: string) =>
    `mongodb://${user}:secret@127.0.0.1:${mongod.port}/${DATABASE}?authSource=admin`;

  beforeAll(async () => {
    mongod = await startMongodProcess(['--auth', '--setParameter', 'enableTestCommands=1']);
    // The localhost exception allows the first user to be created without credentials.
    const clientWithoutUser = new MongoClient(`mongodb://127.0.0.1:${mongod.port}`);
    await clientWithoutUser.db('admin').command({ createUser: 'root', pwd: 'secret', roles: ['root'] });
    await clientWithoutUser.close();
    adminDb = (await new MongoClient(urlOf('root')).connect()).db('admin');
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
    await adminDb.command({ createRole: 'onlyNeeded', privileges, roles: [] });
    await adminDb.command({ createRole: 'inheriting', privileges: [], roles: petstoreRoles('readWrite') });
    const users = {
      migrator: petstoreRoles('readWrite', 'dbAdmin'),
      service: petstoreRoles('readWrite'),
      checker: petstoreRoles('read'),
      withoutRoles: [],
      otherDatabase: [{ role: 'readWrite', db: 'another' }],
      // May do exactly what a service needs. This user cannot list the collections.
      onlyNeeded: ['onlyNeeded'],
      // Has the rights through a role that inherits them from another role.
      inheriting: ['inheriting'],
      anyDatabase: ['readWriteAnyDatabase'],
    };
    for (const [user, roles] of Object.entries(users)) {
      await adminDb.command({ createUser: user, pwd: 'secret', roles });
    }
    await migrate(urlOf('migrator'));
  });
  afterAll(async () => {
    await adminDb?.client.close();
    await mongod?.stop();
  });

  it('must be named in the URL, and the error about a wrong password names the database where MongoDB looks for the user', async () => {
    await expect(openService(`mongodb://127.0.0.1:${mongod.port}/${DATABASE}`)).rejects.toThrow(
      /: it requires a login: put USER:PASSWORD@ before the host/,
    );
    const wrongPassword = urlOf('service').replace('secret', 'typo');
    await expect(openService(wrongPassword)).rejects.toThrow(
      'no such user in the database "admin"; authSource names',
    );
  });

  it('need only the role "read" for the command "check"', async () => {
    const { stdout } = await runCommand(['check'], { DATABASE_URL: urlOf('checker') });
    expect(stdout).toMatch(/^checked \d+ pets? and \d+ API keys?\n$/);
  });

  it('immediately lose access to the storage when their role is revoked or their password changes', async () => {
    const { pets, probe } = await openService(urlOf('service'));
    const serviceUpdate = { updateUser: 'service' };
    onTestFinished(async () => {
      await adminDb.command({ ...serviceUpdate, pwd: 'secret', roles: petstoreRoles('readWrite') });
    });
    const listMany = () => numbers(20).map(() => pets.list({ limit: 1 }));
    const callAll = () =>
      Promise.allSettled([probe.check(), ...listMany(), ...numbers(20).map(() => pets.insert(aPet()))]);

    await adminDb.command({ ...serviceUpdate, roles: [] });
    for (const outcome of await callAll()) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageUnavailable) });
    }
    await adminDb.command({ ...serviceUpdate, roles: petstoreRoles('readWrite') });
    await adminDb.command({ ...serviceUpdate, pwd: 'another' });
    // An open connection stays authenticated. The fail point closes the connection, and the server then refuses a new
    // login.
    const stopClosing = await failCommand(adminDb, 'find', 'alwaysOn', { closeConnection: true });
    for (const outcome of await Promise.allSettled(listMany())) {
      // The call is not retried until its deadline, so the message is about the login, and not about the deadline.
      const message = 'MongoDB is unavailable: AuthenticationFailed (18)';
      const reason = expect.objectContaining({ name: 'StorageUnavailable', message });
      expect(outcome).toStrictEqual({ status: 'rejected', reason });
    }
    await stopClosing();
    await adminDb.command({ ...serviceUpdate, pwd: 'secret' });
    for (const outcome of await callAll()) expect(outcome).toMatchObject({ status: 'fulfilled' });
  });

  it('can list pets with only the role "read", while the probe rejects and names the missing rights', async () => {
    const { pets, probe } = await openService(urlOf('service'));
    const assign = (role: string) => adminDb.command({ updateUser: 'service', roles: petstoreRoles(role) });
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

  const ALL_NEEDED_RIGHTS =
    'find on "pets", insert on "pets", listIndexes on "pets", find on "api_keys", update on "api_keys", ' +
    'find on "rate_limits", insert on "rate_limits", update on "rate_limits", listIndexes on "rate_limits", ' +
    'find on "schema"';
  it.each([
    ['checker', 'insert on "pets", update on "api_keys", insert on "rate_limits", update on "rate_limits"'],
    ['withoutRoles', ALL_NEEDED_RIGHTS],
    ['otherDatabase', ALL_NEEDED_RIGHTS],
  ])('cannot start a service if they lack a right: the user %s', async (user, missing) => {
    await expect(openService(urlOf(user))).rejects.toThrow(
      new StorageSetupError(
        `the account of the database "${DATABASE}" may not ${missing}; grant it these actions`,
      ),
    );
  });

  it.each([
    ['root', 0],
    ['inheriting', 0],
    ['anyDatabase', 0],
    // This user cannot list the collections, so a warning is logged.
    ['onlyNeeded', 1],
  ])('can start a service if any role gives them the rights: the user %s', async (user, warningCount) => {
    const warnings: string[] = [];
    const log = { warn: (line: string) => void warnings.push(line) };
    const { probe, pets } = await openService(urlOf(user), { log });
    await probe.check();
    await pets.insert(aPet());

    expect(warnings).toStrictEqual(Array.from({ length: warningCount }, () => PRIVILEGES_WARNING));
  });

  it('cannot create an API key with only the role "read", and the error does not quote the digest of the new key', async () => {
    const command = new Command(['keys', 'create', '--label', 'till'], { DATABASE_URL: urlOf('checker') });

    expect(await command.ended).toBe(1);
    expect(command.stderr).toBe(
      'petstore: MongoDB is unavailable: Unauthorized (13); the service needs the role readWrite, and petstore migrate also needs dbAdmin\n',
    );
  });
});
