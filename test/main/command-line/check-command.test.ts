import { chmod } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { anArchivedPet, sha256 } from '../../support/archived-pets.ts';
import { CreatePet } from '../../../src/application/pets/create-pet.ts';
import { aKey, at } from '../../support/api-keys.ts';
import { runFailing, runCommand } from '../../support/command.ts';
import { damage, newPath } from '../../support/sqlite.ts';
import { aPet } from '../../support/pets.ts';
import { storageHost } from '../../support/storage-host.ts';

/** Makes a SQLite file with three pets and one API key. The first two pets have an idempotency key. */
async function makeFilledFile(): Promise<string> {
  const file = await newPath();
  const { pets, keys, close } = await openSqliteStorage(file, storageHost());
  for (const key of ['a', 'b', undefined]) await new CreatePet(pets, sha256).execute(aPet(), key);
  await keys.insert(aKey(1, { revokedAt: at(1) }));
  await close();
  return file;
}

// These tests use SQLite. For MongoDB, test/adapters/mongodb/inspector.test.ts tests which problems a check finds, and
// skip-ids-command.test.ts runs `petstore check` on a database without problems.
describe('petstore check', () => {
  it('reports no problem in a sound SQLite file', async () => {
    const url = `sqlite:${await makeFilledFile()}`;
    const textCommand = await runCommand(['check'], { DATABASE_URL: url });
    expect([textCommand.stdout, textCommand.stderr]).toStrictEqual([
      'checked 3 pets and 1 API key\n',
      `petstore: read from ${url}\n`,
    ]);
    const jsonCommand = await runCommand(['check', '--from', url, '--json']);
    expect(JSON.parse(jsonCommand.stdout)).toStrictEqual({ pets: 3, apiKeys: 1, findings: [], more: 0 });
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    await runCommand(['check'], { DATABASE_URL: url }, { stdout: terminal, stderr: terminal });
    // The command erases its progress line (`\r\x1b[K`) before it prints its result.
    expect((await terminal.end().toArray()).join('')).toContain(
      `still working\r\x1b[Kpetstore: read from ${url}\nchecked 3 pets`,
    );
  });

  it('reports all five problems of a damaged SQLite file', async () => {
    const file = await makeFilledFile();
    damage(
      file,
      `UPDATE pets SET fingerprint = zeroblob(32) WHERE id = 1;
       UPDATE pets SET status = 'x' WHERE id = 3;
       UPDATE sqlite_sequence SET seq = 2 WHERE name = 'pets';
       DROP INDEX pets_by_status;
       UPDATE api_keys SET revoked_at = NULL, expires_at = NULL`,
    );
    const url = `sqlite:${file}`;
    const { stdout, stderr } = await runFailing(['check'], { DATABASE_URL: url });
    expect(stderr).toBe(
      `petstore: read from ${url}\npetstore: the storage has 5 problems; ` +
        'repair the damaged records in the storage, or restore a backup\n',
    );
    // The last line of the output, which counts the pets and keys, is not compared.
    expect(stdout.split('\n').slice(0, -2)).toStrictEqual([
      'file: the index pets_by_status is missing',
      'counter of pet ids: it is 2, less than the greatest id of a pet, 3',
      'pet 1: its idempotency key and fingerprint must match their checksum',
      'pet 3: status must be one of available, pending, sold',
      expect.stringMatching(/^API key [0-9a-f]{16}: its fields must match its checksum$/),
    ]);
  });

  it('shows the first 100 problems, and how many more it has found', async () => {
    const file = await newPath();
    const { archive, close } = await openSqliteStorage(file, storageHost());
    await archive.write(Array.from({ length: 150 }, (_, n) => anArchivedPet({ id: BigInt(n + 1) })));
    await close();
    damage(file, "UPDATE pets SET name = 'x'");

    const jsonCommand = await runFailing(['check', '--json'], { DATABASE_URL: `sqlite:${file}` });
    const { findings: shownProblems, ...otherFields } = JSON.parse(jsonCommand.stdout);
    expect([shownProblems.length, shownProblems[99].about, otherFields]).toStrictEqual([
      100,
      'pet 100',
      { pets: 150, apiKeys: 0, more: 50 },
    ]);
    const { stdout, stderr } = await runFailing(['check'], { DATABASE_URL: `sqlite:${file}` });
    expect(stdout).toMatch(/\npet 100: .*\nand 50 further problems\nchecked 150 pets and 0 API keys\n$/);
    expect(stderr).toContain('the storage has 150 problems; ');
  });

  it('needs no permission to write to the SQLite file or to its directory', async () => {
    const file = await makeFilledFile();
    await chmod(file, 0o400);
    await chmod(dirname(file), 0o500);
    onTestFinished(() => chmod(dirname(file), 0o700));
    await runCommand(['check'], { DATABASE_URL: `sqlite:${file}` });
  });
});
