import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { archivedPets } from '../../support/archived-pets.ts';
import { sqliteWith } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { ask } from '../../support/client.ts';
import { Command, succeeds } from '../../support/command.ts';
import { startService } from '../../support/service.ts';

const PET = '{"name":"Rex","categoryId":9223372036854775807}';

/** A database with a key, and the URL of a copy of a backup elsewhere. */
async function setUp() {
  const directory = await testDirectory();
  const DATABASE_URL = `sqlite:${directory}/petstore.db`;
  const { stdout } = await succeeds(['keys', 'create', '--label', 'till'], { DATABASE_URL });
  return { DATABASE_URL, key: stdout.trim(), backup: join(directory, 'backup.db') };
}

/** A service on the restored backup. */
async function restore(backup: string): Promise<string> {
  const restored = join(await testDirectory(), 'restored.db');
  await succeeds(['restore', backup, '--to', `sqlite:${restored}`]);
  return (await startService({ DATABASE_URL: `sqlite:${restored}` })).url;
}

describe('a backup', () => {
  it('restores pets, API keys, idempotency keys and ids, made while a service runs', async () => {
    const { DATABASE_URL, key, backup } = await setUp();
    const { url } = await startService({ DATABASE_URL });
    const request = { key, headers: { 'idempotency-key': 'once' }, body: PET };
    const first = await ask(`${url}/v1/pets`, request);
    expect(first.status).toBe(201);

    const command = await succeeds(['backup', backup], { DATABASE_URL });
    expect([command.stdout, command.stderr]).toStrictEqual([`backed up to ${backup}\n`, '']);
    // This pet is lost. Its id is not.
    const lost = await ask(`${url}/v1/pets`, { key, body: PET });
    expect(lost).toMatchObject({ status: 201, headers: { location: '/v1/pets/2' } });

    const restored = await restore(backup);
    expect(await ask(`${restored}/v1/pets`, { key })).toMatchObject({ status: 200, body: `[${first.body}]` });
    expect(await ask(`${restored}/v1/pets`, request)).toMatchObject({
      status: 201,
      headers: { 'idempotent-replayed': 'true' },
      body: first.body,
    });
    const next = await ask(`${restored}/v1/pets`, { key, body: PET });
    expect(next).toMatchObject({ status: 201, headers: { location: '/v1/pets/1000000000002' } });
    const { stdout } = await succeeds(['keys', 'list', '--json'], { DATABASE_URL: `sqlite:${backup}` });
    expect(JSON.parse(stdout)).toMatchObject([{ label: 'till', state: 'active' }]);
    const again = await succeeds(['backup', `${backup}-2`, '--json'], { DATABASE_URL });
    expect(JSON.parse(again.stdout)).toStrictEqual({ file: `${backup}-2` });
  });

  it('leaves no file when it is interrupted', async () => {
    const { url, path } = await sqliteWith(archivedPets(10));
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
});
