import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { archivedPets } from '../../support/archived-pets.ts';
import { allPetsIn, sqliteWith } from '../../support/archives.ts';
import { Command, runCommand } from '../../support/command.ts';
import { openService } from '../../support/sqlite.ts';

const PETS = archivedPets(10);

// The other tests of a backup's contents are in test/adapters/sqlite/backup.test.ts.
it('backup copies all pets to a new file while a service runs, and prints its path as text or as JSON', async () => {
  const { url: DATABASE_URL, path } = await sqliteWith(PETS);
  await openService(path);
  const backup = join(dirname(path), 'backup.db');
  const textCommand = await runCommand(['backup', backup], { DATABASE_URL });
  expect([textCommand.stdout, textCommand.stderr]).toStrictEqual([
    `backed up to ${backup}\n`,
    `petstore: read from ${DATABASE_URL}\n`,
  ]);
  const jsonCommand = await runCommand(['backup', `${backup}-2`, '--json'], { DATABASE_URL });
  expect(JSON.parse(jsonCommand.stdout)).toStrictEqual({ file: `${backup}-2` });
  for (const file of [backup, `${backup}-2`]) {
    expect(await allPetsIn(`sqlite:${file}`)).toStrictEqual(PETS);
  }
});

it('an interrupted backup leaves neither a backup nor its unfinished copy', async () => {
  const { url, path } = await sqliteWith(PETS);
  // A backup of 70,000 pets takes several steps. The backup can be interrupted after each step.
  {
    using db = new DatabaseSync(path);
    db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)
      INSERT INTO pets (name, category_id, status) SELECT hex(zeroblob(125)), i, 'sold' FROM n`);
  }
  const backup = join(dirname(path), 'backup.db');

  const command = new Command(['backup', '--from', url, backup], {});
  // The backup has begun when its unfinished copy exists.
  while (!existsSync(`${backup}.partial`)) await new Promise(setImmediate);
  command.interrupt('SIGINT');

  expect(await command.ended).toBe(130);
  const message = 'petstore: interrupted; no backup was written; run the same command again\n';
  expect([command.stdout, command.stderr]).toStrictEqual(['', message]);
  expect((await readdir(dirname(path))).filter((name) => name.startsWith('backup'))).toStrictEqual([]);
});
