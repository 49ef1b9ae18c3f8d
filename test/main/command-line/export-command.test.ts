import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { sqliteWith } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { runCommand } from '../../support/command.ts';
import { run } from '../../support/process.ts';
import { openService } from '../../support/sqlite.ts';

/** A command reads and writes these pets in several batches. */
const PETS = archivedPets(5200);

it('export writes every pet to standard output while a service uses the file', async () => {
  const { url, path } = await sqliteWith(PETS);
  await openService(path);
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const program = await runCommand(['export', '--from', url], {}, { stderr });
  expect(program.stdout).toBe(petLines(PETS));
  // The command erases its progress line (`\r\x1b[K`) before it prints these two lines.
  expect((await stderr.end().toArray()).join('')).toContain(
    `\r\x1b[Kpetstore: read from ${url}\npetstore: exported 5200 pets\n`,
  );
});

it('export exits with code 141 and prints no error when the program that reads its output ends early', async () => {
  const { url } = await sqliteWith(PETS);
  const script = `"$0" bin/petstore.js export - --from "$1" | head -1; exit "\${PIPESTATUS[0]}"`;
  const program = run('bash', ['-c', script, process.execPath, url]);
  expect(await program.ended).toStrictEqual({ code: 141, signal: null });
  expect([program.stdout, program.stderr]).toStrictEqual([petLines(PETS.slice(0, 1)), '']);
});

it('export --json prints its result as JSON when it writes a file', async () => {
  const { url } = await sqliteWith(PETS.slice(0, 3));
  const file = join(await testDirectory(), 'pets.ndjson');
  const program = await runCommand(['export', file, '--from', url, '--json']);
  expect(JSON.parse(program.stdout)).toStrictEqual({ file, pets: 3 });
  expect(program.stderr).toBe(`petstore: read from ${url}\n`);
});
