import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { findingsIn, freshDatabase, openService, throughProxy } from '../support/mongo-database.ts';
import { aPet } from '../support/pets.ts';
import { DONE, FAILED, ROOT } from '../support/process.ts';
import { leftOut, mongo } from '../support/shared-mongo.ts';
import { nextBuild, runBuild } from './next-build.ts';

const migrate = (build: string, url: string) => runBuild(build, ['migrate', url]);

/** Whether pets have the validator and the indexes of the next build. */
async function isNext({ db }: Awaited<ReturnType<typeof freshDatabase>>) {
  const [info] = await db.listCollections({ name: 'pets' }, { nameOnly: false }).toArray();
  const indexes = await db.collection('pets').indexes();
  return [
    BSON.EJSON.stringify(info).includes('nickname'),
    indexes.some(({ name }) => name === 'categoryId_1__id_1'),
  ];
}

it.skipIf(mongo === undefined)(
  `a migration to the next MongoDB schema is repeated after a kill at each step, and old services start meanwhile${leftOut}`,
  async () => {
    const next = await nextBuild();
    const steps = [['listIndexes'], ['update'], ['collMod'], ['createIndexes'], ['createIndexes', 'update']];
    const kills = steps.map(async (commands) => {
      const database = await freshDatabase(mongo!);
      const { proxy, url } = await throughProxy(database.url);
      let held = proxy.hold(commands[0]!);
      const migration = migrate(next, url);
      for (const command of commands.slice(1)) {
        const release = await held;
        held = proxy.hold(command);
        release();
      }
      await held;
      await migration.kill();

      const { pets, probe } = await openService(database.url);
      await probe.check();
      await pets.insert(aPet());
      expect(await findingsIn(database.url), commands.join()).toStrictEqual([]);
      const done = await migrate(next, database.url).succeeded();
      expect(done, commands.join()).toContain('schema version 4 (as before), step 1 (before: 0)\n');
      expect(await isNext(database)).toStrictEqual([true, true]);
      await probe.check();
      expect(await pets.insert(aPet())).toMatchObject({ id: 2n });
    });
    await Promise.all(kills);
  },
);

it.skipIf(mongo === undefined)(
  `an old migration of MongoDB that was stopped while the next one ran does not put its validator back${leftOut}`,
  async () => {
    const database = await freshDatabase(mongo!);
    await database.db.collection('pets').dropIndex('status_1__id_1');
    await database.db.command({ collMod: 'rate_limits', validator: {} });
    const { proxy, url } = await throughProxy(database.url);
    const held = proxy.hold('createIndexes');
    const old = migrate(ROOT, url);
    const release = await held;
    // While an index is built, the migration keeps its place.
    const lease = async () => (await database.db.collection('schema').findOne())?.['lease'].until;
    const first = await lease();
    await expect.poll(lease).not.toStrictEqual(first);
    old.signal('SIGSTOP');
    await migrate(await nextBuild(), database.url).succeeded();
    await database.db.command({ collMod: 'rate_limits', validator: {} });

    release();
    old.signal('SIGCONT');

    expect(await old.ended).toStrictEqual(FAILED);
    expect(old.stderr).toBe(
      `petstore: another migration of the database "${database.db.databaseName}" has taken the place of this one, ` +
        'which was silent for 10 s; migrate with the newest build\n',
    );
    expect(await isNext(database)).toStrictEqual([true, true]);
    const [info] = await database.db.listCollections({ name: 'rate_limits' }, { nameOnly: false }).toArray();
    expect(info?.options).not.toHaveProperty('validator');
  },
);

it.skipIf(mongo === undefined)(
  `AUTO_MIGRATE takes a step that older builds can live with, and only petstore migrate raises the version${leftOut}`,
  async () => {
    const [database, next] = [await freshDatabase(mongo!), await nextBuild()];
    const { url: DATABASE_URL, db } = database;
    const { probe } = await openService(DATABASE_URL);
    const env = { DATABASE_URL, AUTO_MIGRATE: 'true' };
    const without = runBuild(next, ['serve'], { DATABASE_URL });
    expect(await without.ended).toStrictEqual(FAILED);
    expect(without.stderr).toContain('has step 0 of its schema, this build needs step 1; run: ');
    const service = runBuild(next, ['serve'], env);
    await service.url();
    expect(await isNext(database)).toStrictEqual([true, true]);
    await probe.check();

    const table = join(next, 'src/adapters/mongodb/schema/collection-plans.ts');
    const source = await readFile(table, 'utf8');
    await writeFile(
      table,
      source.replace('version: 4,', 'version: 5,').replace('[4]', '[5]').replace('step: 1', 'step: 2'),
    );
    const refused = runBuild(next, ['serve'], env);
    expect(await refused.ended).toStrictEqual(FAILED);
    expect(refused.stderr).toContain('has schema version 4, this build needs 5; run: ');
    expect(await migrate(next, DATABASE_URL).succeeded()).toContain(
      'version 5 (before: 4), step 2 (before: 1)\n',
    );
    await expect(probe.check()).rejects.toThrow(
      `the database "${db.databaseName}" has schema version 5, this build needs 4; run a newer build of petstore`,
    );
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
  },
);
