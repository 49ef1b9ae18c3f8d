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

// test/adapters/sqlite/backup.test.ts tests the contents of a backup.
it('the backup command makes a backup while a service runs, and reports it as text or as JSON', async () => {
  const { url: DATABASE_URL, path } = await sqliteWith(PETS);
  await openService(path);
  const backup = join(dirname(path), 'backup.db');
  const text = await runCommand(['backup', backup], { DATABASE_URL });
  expect([text.stdout, text.stderr]).toStrictEqual([
    `backed up to ${backup}\n`,
    `petstore: read from ${DATABASE_URL}\n`,
  ]);
  const json = await runCommand(['backup', `${backup}-2`, '--json'], { DATABASE_URL });
  expect(JSON.parse(json.stdout)).toStrictEqual({ file: `${backup}-2` });
  for (const file of [backup, `${backup}-2`]) {
    expect(await allPetsIn(`sqlite:${file}`)).toStrictEqual(PETS);
  }
});

it('an interrupted backup leaves no file', async () => {
  const { url, path } = await sqliteWith(PETS);
  {
    using db = new DatabaseSync(path);
    db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)
      INSERT INTO pets (name, category_id, status) SELECT hex(zeroblob(125)), i, 'sold' FROM n`);
  }
  const backup = join(dirname(path), 'backup.db');

  const command = new Command(['backup', '--from', url, backup], {});
  while (!existsSync(`${backup}.partial`)) await new Promise(setImmediate);
  command.interrupt('SIGINT');

  expect(await command.ended).toBe(130);
  const line = 'petstore: interrupted; no backup was written; run the same command again\n';
  expect([command.stdout, command.stderr]).toStrictEqual(['', line]);
  expect((await readdir(dirname(path))).filter((name) => name.startsWith('backup'))).toStrictEqual([]);
});
