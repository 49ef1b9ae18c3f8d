import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BSON } from 'mongodb';
import { expect, it, onTestFinished } from 'vitest';
import { openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import { ask, KEY } from '../support/client.ts';
import { findingsIn, freshDatabase, openService, throughProxy } from '../support/mongo-database.ts';
import { aPet } from '../support/pets.ts';
import { FAILED, ROOT } from '../support/process.ts';
import { noMongo, mongo } from '../support/shared-mongo.ts';
import { nextBuild, runBuild } from './next-build.ts';

const migrate = (build: string, url: string) => runBuild(build, ['migrate', url]);

/** Returns whether the collection of pets has the validator of the next build, and whether it has its index. */
async function changesOfNextBuild({ db }: Awaited<ReturnType<typeof freshDatabase>>) {
  const pets = db.collection('pets');
  const validator = BSON.EJSON.stringify(await pets.options());
  return [validator.includes('nickname'), await pets.indexExists('categoryId_1__id_1')];
}

it.skipIf(mongo === undefined)(
  `after a migration of MongoDB was killed at any step, old services can start, and the migration can run again${noMongo}`,
  async () => {
    const next = await nextBuild();
    const steps = [['listIndexes'], ['update'], ['collMod'], ['createIndexes'], ['createIndexes', 'update']];
    const kills = steps.map(async (commands) => {
      const database = await freshDatabase(mongo!);
      const { proxy, url } = await throughProxy(database.url);
      const migration = migrate(next, url);
      let continueCommand = () => {};
      for (const command of commands) {
        const held = proxy.hold(command);
        continueCommand();
        continueCommand = await held;
      }
      await migration.kill();

      const { pets } = await openService(database.url);
      await pets.insert(aPet());
      expect(await findingsIn(database.url), commands.join()).toStrictEqual([]);
      const printed = await migrate(next, database.url).succeeded();
      expect(printed, commands.join()).toContain('schema version 4 (as before), step 1 (before: 0)\n');
      expect(await changesOfNextBuild(database)).toStrictEqual([true, true]);
      expect(await pets.insert(aPet())).toMatchObject({ id: 2n });
    });
    await Promise.all(kills);
  },
);

it.skipIf(mongo === undefined)(
  `an old migration of MongoDB that continues after a newer migration does not put back the old validator${noMongo}`,
  async () => {
    const database = await freshDatabase(mongo!);
    const { db } = database;
    await db.collection('pets').dropIndex('status_1__id_1');
    await db.command({ collMod: 'rate_limits', validator: {} });
    const { proxy, url } = await throughProxy(database.url);
    const held = proxy.hold('createIndexes');
    const old = migrate(ROOT, url);
    const continueCommand = await held;
    old.signal('SIGSTOP');
    await migrate(await nextBuild(), database.url).succeeded();
    await db.command({ collMod: 'rate_limits', validator: {} });

    continueCommand();
    old.signal('SIGCONT');

    expect(await old.ended).toStrictEqual(FAILED);
    expect(old.stderr).toBe(
      `petstore: another migration of the database "${db.databaseName}" took over, because this one ` +
        'did not renew its lease for 10 s; migrate with the newest build\n',
    );
    expect(await changesOfNextBuild(database)).toStrictEqual([true, true]);
    expect(await db.collection('rate_limits').options()).not.toHaveProperty('validator');
  },
);

it.skipIf(mongo === undefined)(
  `AUTO_MIGRATE creates a schema and makes a new step, but only petstore migrate raises the version, and running services that accept the new version continue${noMongo}`,
  async () => {
    const [database, next] = [await freshDatabase(mongo!, { migrated: false }), await nextBuild()];
    const { url: DATABASE_URL, db } = database;
    const { probe, close } = await openMongoStorage(DATABASE_URL, { autoMigrate: true });
    onTestFinished(close);
    const serve = (AUTO_MIGRATE: string) => runBuild(next, [], { DATABASE_URL, AUTO_MIGRATE, API_KEYS: KEY });
    const table = join(next, 'src/adapters/mongodb/schema/collection-plans.ts');
    const edit = async (from: string, to: string) =>
      writeFile(table, (await readFile(table, 'utf8')).replace(from, to));
    await edit('accepts: [4]', 'accepts: [4, 5]');
    const problem = 'has step 0 of its schema, this build needs step 1; run: ';
    await expect(serve('false').url()).rejects.toThrow(problem);
    const url = await serve('true').url();
    expect(await changesOfNextBuild(database)).toStrictEqual([true, true]);
    await probe.check();

    await edit('version: 4', 'version: 5');
    await edit('step: 1', 'step: 2');
    await expect(serve('true').url()).rejects.toThrow('has schema version 4, this build needs 5; run: ');
    const printed = await migrate(next, DATABASE_URL).succeeded();
    expect(printed).toContain('version 5 (before: 4), step 2 (before: 1)\n');
    expect((await ask(`${url}/readyz`)).status).toBe(200);
    expect((await ask(`${url}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' })).status).toBe(201);
    await expect(probe.check()).rejects.toThrow(
      `the database "${db.databaseName}" has schema version 5, this build needs 4; run a newer build of petstore`,
    );
  },
);
