import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import type { WhilePetsNeverChange } from '../../src/application/ports/pets-never-change.ts';
import { aKey, at } from '../support/api-keys.ts';
import { freePort } from '../../proof/failure/free-port.ts';
import { anArchivedPet, idempotencyFor } from '../support/archived-pets.ts';
import { type RunningMongod, runMongod } from '../support/mongod-process.ts';
import { sharedMongo } from '../support/mongodb.ts';
import { ROOT, run } from '../support/process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { aPet } from '../support/pets.ts';

const DATABASE = 'petstore';
const PASSWORDS = {
  ROOT_PASSWORD: 'root-1',
  SERVICE_PASSWORD: 'service-1',
  MIGRATOR_PASSWORD: 'migrator-1',
  IMPORTER_PASSWORD: 'importer-1',
};

/** mongod writes its journal every 5 ms. By default, the drop of a database waits up to 100 ms for the journal. */
const FAST_JOURNAL = ['--journalCommitInterval', '5'];

/** Runs a script of `deploy/mongodb` and returns what it prints. */
async function mongosh(uri: string, script: string, env: Record<string, string>): Promise<string> {
  const interpreter = new URL('./mongosh.ts', import.meta.url).pathname;
  return run(process.execPath, [interpreter, uri, join(ROOT, 'deploy/mongodb', script)], env).succeeded();
}

// This test starts servers with a key file, which it can do only with mongod processes.
const skip = (await sharedMongo())?.kind !== 'process';

describe.skipIf(skip)(`the scripts of deploy/mongodb${skip ? ' (left out: no mongod process)' : ''}`, () => {
  const resources = new AsyncDisposableStack();
  const members: RunningMongod[] = [];
  let root: MongoClient;

  const addresses = () => members.map(({ port }) => `127.0.0.1:${port}`);
  const firstMember = () => `mongodb://${addresses()[0]}/?directConnection=true`;
  const urlFor = (login: string, database = DATABASE) => {
    return `mongodb://${login}@${addresses()[0]}/${database}?replicaSet=petstore`;
  };
  const rootUrl = () => urlFor('root:root-1', '');
  const serviceUrl = (password = 'service-1') => urlFor(`petstore:${password}`);
  const urlOf = (user: 'migrator' | 'importer') => urlFor(`petstore-${user}:${user}-1`);
  const ownerUrl = () => rootUrl().replace('/?', `/${DATABASE}?authSource=admin&`);
  const createRoles = (env: Record<string, string> = {}) => {
    return mongosh(rootUrl(), 'create-roles.js', { ...PASSWORDS, ...env });
  };
  const emptyDatabase = () => root.db(DATABASE).dropDatabase();
  const emptyCollections = async () => {
    for (const name of ['pets', 'api_keys', 'rate_limits'])
      await root.db(DATABASE).collection(name).deleteMany();
  };

  beforeAll(async () => {
    const directories = [await temporaryDirectory('mongod', { inMemory: true })];
    directories.push(await temporaryDirectory('mongod', { inMemory: true }));
    for (const directory of directories) resources.use(directory);
    const starts = directories.map(async ({ path }) => {
      // Every member needs the same key, and mongod refuses a file that other users can read.
      const keyFile = join(path, 'keyfile');
      await writeFile(keyFile, KEY_FILE, { mode: 0o400 });
      const args = ['--replSet', 'petstore', '--keyFile', keyFile, ...FAST_JOURNAL];
      const mongod = await runMongod({ directory: path, args });
      resources.defer(mongod.kill);
      return mongod;
    });
    members.push(...(await Promise.all(starts)));
  });
  afterAll(() => resources.disposeAsync());

  it('create a replica set with its first user, and change nothing when they are repeated', async () => {
    // The third member does not run. The first two members are a majority.
    const third = `127.0.0.1:${await freePort()}`;
    const MEMBERS = [...addresses(), third].join(',');
    const env = { ...PASSWORDS, REPLICA_SET: 'petstore', MEMBERS };
    const done = `the replica set petstore has the members ${MEMBERS}\n`;
    const printed = `created the user root\nadded ${addresses()[1]}\nadded ${third}\n${done}`;
    expect(await mongosh(firstMember(), 'initiate-replica-set.js', env)).toBe(printed);
    expect(await mongosh(firstMember(), 'initiate-replica-set.js', env)).toBe(done);

    root = resources.use(await new MongoClient(rootUrl()).connect());
    const admin = root.db('admin');
    const { config } = await admin.command({ replSetGetConfig: 1 });
    const hosts = config.members.map(({ host }: { readonly host: string }) => host);
    expect(hosts).toStrictEqual(MEMBERS.split(','));
    expect(config.settings.electionTimeoutMillis).toBe(3_000);
    await expect(new MongoClient(firstMember()).db('admin').command({ listDatabases: 1 })).rejects.toThrow(
      'requires authentication',
    );

    // The tests of the roles need only one member.
    const singleMember = { ...config, members: config.members.slice(0, 1), version: config.version + 1 };
    await admin.command({ replSetReconfig: singleMember, force: true });
    await members[1]?.kill();
  });

  it('create the roles and users, and change passwords and repair privileges when they are repeated', async () => {
    const printed =
      'the user petstore of the database petstore has the role petstoreService\n' +
      'the user petstore-migrator of the database petstore has the role petstoreMigrator\n';
    expect(await createRoles({ SERVICE_PASSWORD: 'service-0', IMPORTER_PASSWORD: '' })).toBe(printed);
    const db = root.db(DATABASE);
    const before = await db.command({ rolesInfo: 1, showPrivileges: true });
    await db.command({ updateRole: 'petstoreService', privileges: [], roles: [] });

    const importer = 'the user petstore-importer of the database petstore has the role petstoreImporter\n';
    expect(await createRoles()).toBe(printed + importer);
    const after = await db.command({ rolesInfo: 1, showPrivileges: true });
    expect(after['roles']).toStrictEqual(before['roles']);
    const { users } = await db.command({ usersInfo: 1 });
    const rolesOf = users.map(({ user, roles }: { user: string; roles: object }) => [user, roles]);
    expect(Object.fromEntries(rolesOf)).toStrictEqual({
      petstore: [{ role: 'petstoreService', db: DATABASE }],
      'petstore-migrator': [{ role: 'petstoreMigrator', db: DATABASE }],
      'petstore-importer': [{ role: 'petstoreImporter', db: DATABASE }],
    });
    await expect(new MongoClient(serviceUrl('service-0')).connect()).rejects.toThrow('Authentication failed');
    await new MongoClient(serviceUrl()).connect().then((client) => client.close());
  });

  it('give the service no privilege to change a pet', async () => {
    const actions: WhilePetsNeverChange<readonly string[]> = ['find', 'insert', 'listIndexes'];
    const { roles } = await root.db(DATABASE).command({ rolesInfo: 'petstoreService', showPrivileges: true });
    const petsPrivilege = roles[0].privileges.find((one: Privilege) => one.resource.collection === 'pets');
    expect(petsPrivilege.actions).toStrictEqual(actions);
  });

  it('report which variables are missing', async () => {
    await expect(createRoles({ SERVICE_PASSWORD: '' })).rejects.toThrow(
      'set SERVICE_PASSWORD and MIGRATOR_PASSWORD',
    );
    await expect(mongosh(firstMember(), 'initiate-replica-set.js', PASSWORDS)).rejects.toThrow(
      'set REPLICA_SET, MEMBERS and ROOT_PASSWORD',
    );
  });

  it.each([
    { role: 'petstoreService', use: useEveryPrivilegeOfTheService },
    { role: 'petstoreImporter', use: useEveryPrivilegeOfTheImporter },
    { role: 'petstoreMigrator', use: useEveryPrivilegeOfTheMigrator },
  ])('give the role $role only the privileges that it needs', async ({ role, use }) => {
    const db = root.db(DATABASE);
    const { roles } = await db.command({ rolesInfo: role, showPrivileges: true });
    const privileges: readonly Privilege[] = roles[0].privileges;
    expect(new Set(privileges.map(({ resource }) => resource.db))).toStrictEqual(new Set([DATABASE]));
    expect(roles[0].inheritedPrivileges).toStrictEqual(privileges);
    onTestFinished(async () => void (await db.command({ updateRole: role, privileges })));
    await emptyDatabase();
    await migrate(ownerUrl());
    await use();

    const unneeded: string[] = [];
    const allActions = privileges.flatMap((privilege) =>
      privilege.actions.map((action) => ({ privilege, action })),
    );
    for (const { privilege, action } of allActions) {
      const actions = privilege.actions.filter((other) => other !== action);
      // MongoDB does not allow a privilege without actions, so such a privilege is left out.
      const fewer = privileges.map((one) => (one === privilege ? { ...one, actions } : one));
      await db.command({ updateRole: role, privileges: fewer.filter((one) => one.actions.length > 0) });
      await use().then(
        () => unneeded.push(`${action} on ${privilege.resource.collection}`),
        (error: Error) => {
          if (!/Unauthorized \(13\)|the account .+ may not /.test(error.message)) throw error;
        },
      );
    }
    expect(unneeded).toStrictEqual([]);
  });

  async function useEveryPrivilegeOfTheService(): Promise<void> {
    await emptyCollections();
    await using openStorages = new AsyncDisposableStack();
    const warn = (line: string) => {
      throw new Error(line);
    };
    const storage = await openMongoStorage(serviceUrl(), { autoMigrate: false, log: { warn } });
    openStorages.defer(storage.close);
    await storage.pets.insert(aPet());
    await storage.pets.insertOnce(aPet(), idempotencyFor('a'));
    await storage.pets.findById(1n);
    await storage.pets.list({ limit: 10 });
    await storage.keys.insert(aKey());
    await storage.keys.recordUse(new Map([[aKey().id, at(1)]]));
    await storage.limiter.take('tom', { requests: 1, seconds: 60 });
    await storage.probe.check();
    const commandLine = await openMongoArchive(serviceUrl());
    openStorages.defer(() => commandLine.close());
    await commandLine.keys.expire(aKey().id, at(2));
    await commandLine.keys.revoke(aKey().id, at(2));
    await commandLine.keys.list();
    await commandLine.archive.read(0n, 10);
    await commandLine.archive.reserve(10n);
  }

  async function useEveryPrivilegeOfTheImporter(): Promise<void> {
    await emptyCollections();
    await using openStorages = new AsyncDisposableStack();
    const { archive, keys, close } = await openMongoArchive(urlOf('importer'));
    openStorages.defer(close);
    await archive.reserve(3n);
    await archive.write([anArchivedPet({ id: 1n }), anArchivedPet({ id: 3n })]);
    await keys.insert(aKey());
    await keys.expire(aKey().id, at(1));
    await keys.list();
  }

  async function useEveryPrivilegeOfTheMigrator(): Promise<void> {
    await emptyDatabase();
    await migrate(urlOf('migrator'));
    const db = root.db(DATABASE);
    for (const name of ['pets', 'api_keys', 'rate_limits']) {
      await db.command({ collMod: name, validator: {} });
      await db.collection(name).dropIndexes();
    }
    await migrate(urlOf('migrator'));
  }
});

type Privilege = {
  readonly resource: { readonly db: string; readonly collection: string };
  readonly actions: readonly string[];
};

const KEY_FILE = randomBytes(756).toString('base64');
