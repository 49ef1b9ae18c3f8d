import { describe, expect, it } from 'vitest';
import { openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { anArchivedPet } from '../../support/archived-pets.ts';
import { sqliteWith } from '../../support/archives.ts';
import { runCommand } from '../../support/command.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { closeAfterTest, openService } from '../../support/sqlite.ts';
import { rex } from '../../support/pets.ts';

it('skip-ids skips 1,000,000,000,000 ids of a SQLite file at each call, and prints the last of them', async () => {
  const { url: DATABASE_URL, path } = await sqliteWith([anArchivedPet({ id: 7n })]);
  const { stdout, stderr } = await runCommand(['skip-ids'], { DATABASE_URL });
  expect(stdout).toBe('skipped 1000000000000 ids; new pets are assigned ids greater than 1000000000007\n');
  expect(stderr).toBe(`petstore: wrote to ${DATABASE_URL}\n`);
  const repetition = await runCommand(['skip-ids', DATABASE_URL, '--json']);
  expect(JSON.parse(repetition.stdout)).toStrictEqual({ skipped: 1e12, upTo: 2e12 + 7 });

  const { pets } = await openService(path);
  expect((await pets.insert(rex)).id).toBe(BigInt(2e12 + 8));
});

describe.skipIf(mongo === undefined)(`skip-ids of MongoDB${noMongo}`, () => {
  it('changes the next id of a service that already runs on a restored database', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!);
    const originalService = await closeAfterTest(openMongoStorage(DATABASE_URL, { autoMigrate: false }));
    await originalService.pets.insert(rex);
    // This copy is the restored database.
    const copy = await freshDatabase(mongo!);
    for (const name of ['pets', 'schema']) {
      await db
        .collection(name)
        .aggregate([{ $out: { db: copy.db.databaseName, coll: name } }])
        .toArray();
    }
    const restoredService = await closeAfterTest(openMongoStorage(copy.url, { autoMigrate: true }));
    await runCommand(['skip-ids', copy.url]);

    const newPets = await Promise.all([restoredService.pets.insert(rex), restoredService.pets.insert(rex)]);
    expect(newPets.map(({ id }) => id)).toStrictEqual([BigInt(1e12 + 2), BigInt(1e12 + 3)]);
    // The original database has skipped no id.
    expect((await originalService.pets.insert(rex)).id).toBe(2n);
    expect((await runCommand(['check'], { DATABASE_URL: copy.url })).stdout).toBe(
      'checked 3 pets and 0 API keys\n',
    );
  });
});
