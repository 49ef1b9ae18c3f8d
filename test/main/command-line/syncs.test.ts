import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { fileWith, sqliteWith } from '../../support/archives.ts';
import { ask, KEY } from '../../support/client.ts';
import { DONE } from '../../support/process.ts';
import { STRACE_MISSING, traced } from '../../support/strace.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PETS = archivedPets(3000);

/** The calls of a command that succeeds. */
async function callsOf(args: readonly string[], directory: string): Promise<readonly string[]> {
  const { program, calls } = await traced(args);
  expect(await program.ended, program.stderr).toStrictEqual(DONE);
  return calls(directory);
}

/** Each write of this file is followed by a sync of it before one of these calls. */
function expectSyncedBefore(calls: readonly string[], file: string, end: RegExp): void {
  const ends = [...calls.keys()].filter((n) => end.test(calls[n] ?? ''));
  expect(ends).not.toEqual([]);
  for (const n of ends) {
    const before = calls.slice(0, n).filter((call) => call.endsWith(` ${file}`));
    expect(before.at(-1), calls.join('\n')).toBe(`fsync ${file}`);
  }
}

describe('acknowledged data is flushed', () => {
  beforeEach(({ skip }) => skip(STRACE_MISSING !== undefined, STRACE_MISSING));

  // proof/power-loss/power-loss.test.ts has each pet.
  it('a first start flushes the directory, the file and its log', async () => {
    const directory = await testDirectory();
    const env = { DATABASE_URL: 'sqlite:./data/petstore.db', API_KEYS: KEY };
    const { program, calls } = await traced([], { cwd: directory, env });
    await program.url();
    const all = calls(directory);
    expect(all.slice(0, 3)).toStrictEqual(['mkdir data', 'fsync .', 'fsync data']);
    expect(all.slice(all.indexOf('pwrite64 data/petstore.db-wal'))).toContain('fsync data');
    expectSyncedBefore(all, 'data/petstore.db', /-shm$/);
  });

  it('a start flushes the names of its directory and its empty file, which a killed start had not flushed', async () => {
    const directory = await testDirectory();
    await mkdir(join(directory, 'data'));
    await writeFile(join(directory, 'data/petstore.db'), '');
    const env = { DATABASE_URL: 'sqlite:./data/petstore.db', API_KEYS: KEY };
    const { program, calls } = await traced([], { cwd: directory, env });
    await program.url();
    expect(calls(directory).slice(0, 2)).toStrictEqual(['fsync .', 'fsync data']);
  });

  it('a start after a kill flushes a copy of the log, the name of this copy and the file before it empties the log', async () => {
    const directory = await testDirectory();
    const env = { DATABASE_URL: `sqlite:${join(directory, 'petstore.db')}`, API_KEYS: KEY };
    const killed = await traced([], { env });
    const body = '{"name":"Rex","categoryId":7}';
    expect(await ask(`${await killed.program.url()}/v1/pets`, { body })).toMatchObject({ status: 201 });
    await killed.program.kill();

    const { program, calls } = await traced([], { env });
    await program.url();

    const all = calls(directory).filter((call) => !call.endsWith('-shm'));
    expect(all.slice(0, 11)).toStrictEqual([
      'write petstore.db-wal.partial',
      'fsync petstore.db-wal.partial',
      'rename petstore.db-wal.partial petstore.db-wal',
      'fsync .',
      // Of the old log, when its connection is closed.
      'fsync petstore.db-wal',
      'fsync .',
      // Of the new log.
      'fsync petstore.db-wal',
      'fsync .',
      'pwrite64 petstore.db',
      'fsync petstore.db',
      'unlink petstore.db-wal',
    ]);
  });

  it('an export, a backup and a restore flush their files', async () => {
    const { url, path } = await sqliteWith(PETS);
    const directory = dirname(path);
    const [EXPORT, BACKUP, RESTORED] = ['pets.ndjson', 'backup.db', 'new.db'];
    for (const [name, ...args] of [
      [EXPORT, 'export', '--from', url, join(directory, EXPORT)],
      [BACKUP, 'backup', '--from', url, join(directory, BACKUP)],
      [RESTORED, 'restore', '--to', `sqlite:${join(directory, RESTORED)}`, join(directory, BACKUP)],
    ] as const) {
      const calls = await callsOf(args, directory);
      const end = [`fsync ${name}.partial`, `rename ${name}.partial ${name}`, 'fsync .'];
      expect(calls.slice(-3)).toStrictEqual(end);
      expectSyncedBefore(calls, `${name}.partial`, /^rename/);
    }
  });

  it('an import flushes its batches', async () => {
    const directory = await testDirectory();
    const target = `sqlite:${join(directory, 'petstore.db')}`;
    const all = await callsOf(['import', await fileWith(petLines(PETS)), '--to', target], directory);
    // The end of the command moves the log into the file, and removes it.
    expect(all[0]).toBe('fsync .');
    expectSyncedBefore(all, 'petstore.db-wal', /^unlink petstore\.db-wal$/);
    expectSyncedBefore(all, 'petstore.db', /^unlink petstore\.db-wal$/);
    // So is each batch before the next one.
    expect(all.filter((call) => call === 'fsync petstore.db-wal').length, all.join('\n')).toBeGreaterThan(5);
  });
});
