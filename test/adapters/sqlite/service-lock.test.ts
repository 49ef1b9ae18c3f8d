import { readdir, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { expect, it } from 'vitest';
import { serviceLockPath, takeServiceLock } from '../../../src/adapters/sqlite/service-lock.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { run, SERVICE, SERVICE_ENV } from '../../support/process.ts';
import { compileLibrary } from '../../support/slow-flush.ts';
import { newPath } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';

it('a service waits for a command that holds the lock for a short time', async () => {
  const file = await newPath();
  const commandLock = (await takeServiceLock(file))!;

  const taking = takeServiceLock(file);
  commandLock.close();
  const lock = (await taking)!;

  expect(lock.isTransaction).toBe(true);
  lock.close();
});

it('a service refuses a lock file that is not a SQLite database', async () => {
  const file = await newPath();
  await writeFile(serviceLockPath(file), 'not a database');

  await expect(takeServiceLock(file)).rejects.toThrow(
    new StorageSetupError(`the SQLite file ${file}.lock is not a SQLite database; choose another path`),
  );
});

it('a service that cannot lock its file reports that the file system refuses locks', async ({ skip }) => {
  const compiled = compileLibrary(await testDirectory(), 'refused-locks');
  const LD_PRELOAD = await compiled.catch(() =>
    skip('no cc on PATH that compiles for LD_PRELOAD: install one'),
  );
  const file = await newPath();
  const env = { ...SERVICE_ENV, DATABASE_URL: `sqlite:${file}` };
  const program = run(process.execPath, SERVICE, { ...env, LD_PRELOAD });

  expect(await program.ended).toMatchObject({ code: 1 });
  expect(program.stderr).toBe(
    `petstore: the SQLite file ${file} cannot be locked: its file system refuses locks (ENOLCK); ` +
      'put it on a disk of this machine\n',
  );
  expect(await readdir(dirname(file))).toStrictEqual([basename(file)]);
});
