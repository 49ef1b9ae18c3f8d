import { readdir, watch } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { everythingIn, fileWith, sqliteWith } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { fails, inputOf, succeeds } from '../../support/command.ts';
import { DONE, FAILED, run, runService, SERVICE } from '../../support/process.ts';

const PETS = archivedPets(5200);

/** Resolves when the file is written to the next time. */
async function changeOf(path: string): Promise<void> {
  for await (const { filename } of watch(dirname(path))) if (filename === basename(path)) return;
}

it('an import continues after kill -9 at any time', async () => {
  const { url, path } = await sqliteWith([]);
  const file = await fileWith(petLines(PETS));
  for (let kills = 0; kills < 2; kills++) {
    const written = changeOf(`${path}-wal`);
    const program = runService({}, ['import', file, '--to', url]);
    await written;
    program.signal('SIGKILL');
    expect(await program.ended).toStrictEqual({ code: null, signal: 'SIGKILL' });
  }
  await succeeds(['import', file, '--to', url]);
  expect(await everythingIn(url)).toStrictEqual(PETS);
});

it.each(['pets.ndjson', 'standard input'])(
  'a refused import names the invalid line of %s, and leaves no database',
  async (name) => {
    const directory = await testDirectory();
    const text = `${petLines(PETS.slice(0, 2))}{"id"`;
    const path = await fileWith(text);
    const [file, shown] = name === 'pets.ndjson' ? [path, path] : ['-', name];
    const args = ['import', file, '--to', `sqlite:${directory}/petstore.db`];
    const command = await fails(args, {}, { stdin: () => inputOf(text) });
    expect([command.stdout, command.stderr]).toStrictEqual(['', `petstore: ${shown}:3: is not JSON\n`]);
    expect(await readdir(directory)).toStrictEqual([]);
  },
);

it('import from standard input accepts the output of export through a pipe, and leaves no temporary file', async () => {
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
  expect(await everythingIn(target.url)).toStrictEqual(PETS);
  expect(await readdir(TMPDIR)).toStrictEqual([]);
});

it('import from standard input reports in one line that its temporary directory cannot be written', async () => {
  const env = { DATABASE_URL: `sqlite:${await testDirectory()}/pets.db`, TMPDIR: '/non\nexistent' };
  const program = run(process.execPath, [...SERVICE, 'import', '-'], env);
  expect(await program.ended).toStrictEqual(FAILED);
  expect(program.stderr).toMatch(
    /^petstore: standard input cannot be kept in \/non existent; set TMPDIR: ENOENT.*\n$/,
  );
});

it('an import reports how many pets were already there, and how many other pets there are, as JSON or as text', async () => {
  const { url } = await sqliteWith([PETS[0]!, anArchivedPet({ id: 4n })]);
  const file = await fileWith(petLines(PETS));
  const { stdout } = await succeeds(['import', file, '--to', url, '--json']);
  expect(stdout).toBe(`{"file":"${file}","pets":5200,"alreadyThere":1,"others":1}\n`);
  expect((await succeeds(['import', file, '--to', url])).stdout).toBe(
    'imported 5200 pets; 5200 of them were already there; the target also has 1 other pet\n',
  );
});
