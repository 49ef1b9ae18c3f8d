import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { serviceLockPath, takeServiceLock } from '../../../src/adapters/sqlite/service-lock.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { newFile } from '../../support/sqlite.ts';

it('a service waits for a command that holds the lock for a moment', async () => {
  const file = await newFile();
  const ofCommand = await takeServiceLock(file);

  const taking = takeServiceLock(file);
  ofCommand.close();
  const lock = await taking;

  expect(lock.isTransaction).toBe(true);
  lock.close();
});

it('a lock file of another program is an error', async () => {
  const file = await newFile();
  await writeFile(serviceLockPath(file), 'not a database');

  await expect(takeServiceLock(file)).rejects.toThrow(
    new StorageSetupError(`the SQLite file ${file}.lock is not a SQLite database; choose another path`),
  );
});
