import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/partial-file.ts';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { fileWith, sqliteWith } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { refused, succeeds, USAGE } from '../../support/command.ts';
import { run, runService } from '../../support/process.ts';
import { damage, silentLog } from '../../support/sqlite.ts';

const PETS = archivedPets(5200);

describe('export', () => {
  it('writes every pet to standard output, while a service has the file', async () => {
    const { url, path } = await sqliteWith(PETS);
    const service = await openSqliteStorage(path, silentLog);
    const program = await succeeds(['export', '--from', url]);
    await service.close();
    expect(program.stdout).toBe(petLines(PETS));
    expect(program.stderr).toBe('exported 5200 pets\n');
  });

  it('reads DATABASE_URL by default', async () => {
    const { url: DATABASE_URL } = await sqliteWith(PETS.slice(0, 3));
    expect((await succeeds(['export'], { DATABASE_URL })).stdout).toBe(petLines(PETS.slice(0, 3)));
  });

  it('replaces an older file and leaves nothing else', async () => {
    const { url } = await sqliteWith(PETS);
    const path = await fileWith('older\n');
    const program = await succeeds(['export', '--from', url, path]);
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
    expect(await readdir(join(path, '..'))).toStrictEqual(['pets.ndjson']);
    expect([program.stdout, program.stderr]).toStrictEqual(['', 'exported 5200 pets\n']);
  });

  it.each([
    ['its last complete line', 2000, '{"id":77'],
    ['a complete line', 2000, ''],
    ['all of it', 5200, ''],
  ])('continues a partial file after %s', async (_, count, torn) => {
    const { url } = await sqliteWith(PETS);
    const path = join(await testDirectory(), 'pets.ndjson');
    await writeFile(`${path}.partial`, petLines(PETS.slice(0, count)) + torn);
    const program = await succeeds(['export', '--from', url, path]);
    expect(program.stderr).toBe(`continuing ${path}.partial after ${count} pets\nexported 5200 pets\n`);
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
  });

  it.each([
    ['of another storage', petLines([...PETS.slice(0, 9), anArchivedPet({ id: PETS[9]!.id })])],
    ['that lacks a line', petLines(PETS.slice(1, 9))],
  ])('refuses a partial file %s and leaves it unchanged', async (_, text) => {
    const { url } = await sqliteWith(PETS);
    const path = await fileWith('older\n');
    await writeFile(`${path}.partial`, text);
    await refused(
      ['export', '--from', url, path],
      `${path}.partial does not match the first pets of this storage as they are now; ` +
        'move it away or export to another FILE',
    );
    expect(await readFile(`${path}.partial`, 'utf8')).toBe(text);
    expect(await readFile(path, 'utf8')).toBe('older\n');
    expect((await readdir(join(path, '..'))).toSorted()).toStrictEqual([
      'pets.ndjson',
      'pets.ndjson.partial',
    ]);
  });

  it.each(['standard output', 'a file'])('refuses a pet whose id was changed to 0: to %s', async (where) => {
    const { url, path } = await sqliteWith(PETS.slice(0, 3));
    damage(path, 'UPDATE pets SET id = 0 WHERE id = 1');
    const to = where === 'a file' ? [join(await testDirectory(), 'pets.ndjson')] : [];
    await refused(
      ['export', '--from', url, ...to],
      /^petstore: the pet with the id 0 is damaged in the storage: /,
    );
  });

  it('writes all pets or refuses when several exports write one file at once', async () => {
    const { url } = await sqliteWith(PETS);
    const path = join(await testDirectory(), 'pets.ndjson');

    const programs = Array.from({ length: 4 }, () => runService({}, ['export', '--from', url, path]));
    const ended = await Promise.all(programs.map((program) => program.ended));

    const lines = programs.map(({ stderr }) => stderr).toSorted();
    const busy = `petstore: ${path}.partial is being written by another export\n`;
    expect(lines).toContain('exported 5200 pets\n');
    expect(lines.filter((line) => line !== busy && line !== 'exported 5200 pets\n')).toStrictEqual([]);
    expect(ended.filter(({ code }) => code === 1)).toHaveLength(lines.filter((line) => line === busy).length);
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
    expect(await readdir(join(path, '..'))).toStrictEqual(['pets.ndjson']);
  });

  it('ends silently, like other programs, when head has read enough', async () => {
    const { url } = await sqliteWith(PETS);
    const script = `"$0" bin/petstore.js export - --from "$1" | head -1; exit "\${PIPESTATUS[0]}"`;
    const program = run('bash', ['-c', script, process.execPath, url]);
    expect(await program.ended).toStrictEqual({ code: 141, signal: null });
    expect([program.stdout, program.stderr]).toStrictEqual([petLines(PETS.slice(0, 1)), '']);
  });

  it('writes to standard output when the file is -', async () => {
    const { url } = await sqliteWith(PETS.slice(0, 3));
    const program = await succeeds(['export', '-', '--from', url]);
    expect([program.stdout, program.stderr]).toStrictEqual([petLines(PETS.slice(0, 3)), 'exported 3 pets\n']);
  });

  it('answers programs in JSON when it writes a file', async () => {
    const { url } = await sqliteWith(PETS.slice(0, 3));
    const file = join(await testDirectory(), 'pets.ndjson');
    const program = await succeeds(['export', file, '--from', url, '--json']);
    expect(JSON.parse(program.stdout)).toStrictEqual({ file, pets: 3 });
    expect(program.stderr).toBe('');
    await refused(
      ['export', '--json', '--from', url],
      '--json needs a FILE: standard output holds the pets; see petstore export --help',
      { code: USAGE },
    );
  });

  it('compresses a file by its ending and continues it', async () => {
    const { url } = await sqliteWith(PETS);
    const path = join(await testDirectory(), 'pets.ndjson.gz');
    await writeFile(`${path}.partial`, petLines(PETS.slice(0, 2000)));
    const program = await succeeds(['export', path, '--from', url]);
    expect(program.stderr).toBe(`continuing ${path}.partial after 2000 pets\nexported 5200 pets\n`);
    expect(gunzipSync(await readFile(path)).toString()).toBe(petLines(PETS));
    expect(await readdir(join(path, '..'))).toStrictEqual(['pets.ndjson.gz']);
  });

  it('fails in one line when the file cannot be created', async () => {
    const { url } = await sqliteWith(PETS);
    await refused(
      ['export', '--from', url, '/nonexistent/pets.ndjson'],
      '/nonexistent/pets.ndjson cannot be written: there is no directory /nonexistent',
    );
    const directory = await testDirectory();
    await refused(['export', '--from', url, directory], `${directory} is not a regular file`);
  });
});
