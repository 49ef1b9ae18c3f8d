import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { fileWith, sqliteWith } from '../../support/archives.ts';
import { ask, KEY } from '../../support/client.ts';
import { DONE } from '../../support/process.ts';
import { STRACE_MISSING, runTraced } from '../../support/strace.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PETS = archivedPets(3000);

/** Runs a command that succeeds. Returns its system calls on the files in the directory. */
async function runAndTrace(args: readonly string[], directory: string): Promise<readonly string[]> {
  const { program, calls } = await runTraced(args);
  expect(await program.ended, program.stderr).toStrictEqual(DONE);
  return calls(directory);
}

/** Expects that the last call on `file` before each call that matches `end` is the sync of `file`. */
function expectSyncedBefore(calls: readonly string[], file: string, end: RegExp): void {
  const endIndexes = [...calls.keys()].filter((n) => end.test(calls[n] ?? ''));
  expect(endIndexes).not.toEqual([]);
  for (const n of endIndexes) {
    const earlierCalls = calls.slice(0, n).filter((call) => call.endsWith(` ${file}`));
    expect(earlierCalls.at(-1), calls.join('\n')).toBe(`fsync ${file}`);
  }
}

describe('before data is acknowledged,', () => {
  beforeEach(({ skip }) => skip(STRACE_MISSING !== undefined, STRACE_MISSING));

  // proof/power-loss/power-loss.test.ts tests that each acknowledged pet is flushed.
  it('the first start with a SQLite file flushes the directory, the file and its write-ahead log', async () => {
    const directory = await testDirectory();
    const env = { DATABASE_URL: 'sqlite:./data/petstore.db', API_KEYS: KEY };
    const { program, calls } = await runTraced([], { cwd: directory, env });
    await program.url();
    const allCalls = calls(directory);
    expect(allCalls.slice(0, 3)).toStrictEqual(['mkdir data', 'fsync .', 'fsync data']);
    expect(allCalls.slice(allCalls.indexOf('pwrite64 data/petstore.db-wal'))).toContain('fsync data');
    expectSyncedBefore(allCalls, 'data/petstore.db', /-shm$/);
  });

  it('a start flushes the names of a directory and an empty file that a killed start has left', async () => {
    const directory = await testDirectory();
    await mkdir(join(directory, 'data'));
    await writeFile(join(directory, 'data/petstore.db'), '');
    const env = { DATABASE_URL: 'sqlite:./data/petstore.db', API_KEYS: KEY };
    const { program, calls } = await runTraced([], { cwd: directory, env });
    await program.url();
    expect(calls(directory).slice(0, 2)).toStrictEqual(['fsync .', 'fsync data']);
  });

  it('a start after kill -9 flushes a copy of the write-ahead log, the name of this copy and the database file, and then removes the log', async () => {
    const directory = await testDirectory();
    const env = { DATABASE_URL: `sqlite:${join(directory, 'petstore.db')}`, API_KEYS: KEY };
    const killedService = await runTraced([], { env });
    const body = '{"name":"Rex","categoryId":7}';
    const url = await killedService.program.url();
    expect(await ask(`${url}/v1/pets`, { body })).toMatchObject({ status: 201 });
    await killedService.program.kill();

    const { program, calls } = await runTraced([], { env });
    await program.url();

    const allCalls = calls(directory).filter((call) => !call.endsWith('-shm'));
    expect(allCalls.slice(0, 11)).toStrictEqual([
      'write petstore.db-wal.partial',
      'fsync petstore.db-wal.partial',
      'rename petstore.db-wal.partial petstore.db-wal',
      'fsync .',
      // These two calls flush the old log, when its connection is closed.
      'fsync petstore.db-wal',
      'fsync .',
      // These two calls flush the new log.
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
      const calls = await runAndTrace(args, directory);
      const end = [`fsync ${name}.partial`, `rename ${name}.partial ${name}`, 'fsync .'];
      expect(calls.slice(-3)).toStrictEqual(end);
      expectSyncedBefore(calls, `${name}.partial`, /^rename/);
    }
  });

  it('an import flushes each batch before it writes the next batch', async () => {
    const directory = await testDirectory();
    const target = `sqlite:${join(directory, 'petstore.db')}`;
    const allCalls = await runAndTrace(['import', await fileWith(petLines(PETS)), '--to', target], directory);
    // At its end, the command moves the pages of the log into the database file, and removes the log.
    expect(allCalls[0]).toBe('fsync .');
    expectSyncedBefore(allCalls, 'petstore.db-wal', /^unlink petstore\.db-wal$/);
    expectSyncedBefore(allCalls, 'petstore.db', /^unlink petstore\.db-wal$/);
    // The log is also flushed after each batch.
    const logFlushes = allCalls.filter((call) => call === 'fsync petstore.db-wal');
    expect(logFlushes.length, allCalls.join('\n')).toBeGreaterThan(5);
  });
});
