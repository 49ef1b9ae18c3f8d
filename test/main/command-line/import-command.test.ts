import { readdir, watch } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { allPetsIn, fileWith, sqliteWith } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { runFailing, inputOf, runCommand } from '../../support/command.ts';
import { DONE, FAILED, run, runService, SERVICE } from '../../support/process.ts';

/** A command reads and writes these pets in several batches. */
const PETS = archivedPets(5200);

/** Waits for the next write to a file, which may not exist yet. */
async function waitForWrite(path: string): Promise<void> {
  for await (const { filename } of watch(dirname(path))) if (filename === basename(path)) return;
}

it('import stores all pets after two earlier imports of the same file were killed', async () => {
  const { url, path } = await sqliteWith([]);
  const file = await fileWith(petLines(PETS));
  for (let kills = 0; kills < 2; kills++) {
    const nextWrite = waitForWrite(`${path}-wal`);
    const program = runService({}, ['import', file, '--to', url]);
    // The import has begun to store pets.
    await nextWrite;
    program.signal('SIGKILL');
    expect(await program.ended).toStrictEqual({ code: null, signal: 'SIGKILL' });
  }
  await runCommand(['import', file, '--to', url]);
  expect(await allPetsIn(url)).toStrictEqual(PETS);
});

it.each(['a file', 'standard input'])(
  'import from %s reports the number of an invalid line, and creates no database',
  async (inputName) => {
    const directory = await testDirectory();
    const text = `${petLines(PETS.slice(0, 2))}{"id"`;
    const path = await fileWith(text);
    const [file, shownName] = inputName === 'a file' ? [path, path] : ['-', inputName];
    const args = ['import', file, '--to', `sqlite:${directory}/petstore.db`];
    const command = await runFailing(args, {}, { stdin: () => inputOf(text) });
    expect([command.stdout, command.stderr]).toStrictEqual(['', `petstore: ${shownName}:3: is not JSON\n`]);
    expect(await readdir(directory)).toStrictEqual([]);
  },
);

it('import stores the pets that export writes to a pipe, and leaves no temporary file', async () => {
  const TMPDIR = await testDirectory();
  const source = await sqliteWith(PETS);
  const target = await sqliteWith([]);
  const script = `set -o pipefail; "$0" bin/petstore.js export - --from "$1" | "$0" bin/petstore.js import - --to "$2"`;
  const program = run('bash', ['-c', script, process.execPath, source.url, target.url], { TMPDIR });
  expect(await program.ended, program.stderr).toStrictEqual(DONE);
  expect([program.stdout, program.stderr]).toStrictEqual([
    'imported 5200 pets\n',
    `petstore: read from ${source.url}\npetstore: exported 5200 pets\npetstore: wrote to ${target.url}\n`,
  ]);
  expect(await allPetsIn(target.url)).toStrictEqual(PETS);
  expect(await readdir(TMPDIR)).toStrictEqual([]);
});

it('import reports in one line that it cannot keep standard input in its temporary directory', async () => {
  // The line break in this name must not divide the message into two lines.
  const env = { DATABASE_URL: `sqlite:${await testDirectory()}/pets.db`, TMPDIR: '/non\nexistent' };
  const program = run(process.execPath, [...SERVICE, 'import', '-'], env);
  expect(await program.ended).toStrictEqual(FAILED);
  expect(program.stderr).toMatch(
    /^petstore: standard input cannot be kept in \/non existent; set TMPDIR: ENOENT.*\n$/,
  );
});

it('import reports how many of its pets the target already had, and how many other pets the target has', async () => {
  const { url } = await sqliteWith([PETS[0]!, anArchivedPet({ id: 4n })]);
  const file = await fileWith(petLines(PETS));
  const { stdout } = await runCommand(['import', file, '--to', url, '--json']);
  expect(stdout).toBe(`{"file":"${file}","pets":5200,"alreadyThere":1,"others":1}\n`);
  expect((await runCommand(['import', file, '--to', url])).stdout).toBe(
    'imported 5200 pets; 5200 of them were already there; the target also has 1 other pet\n',
  );
});
