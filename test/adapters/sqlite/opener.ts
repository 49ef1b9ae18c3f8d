/**
 * A program that opens URLs in each way that may create a database. Each way has the current directory to itself, and
 * a process has only one of them. Prints warnings and refusals.
 */
import { mkdirSync } from 'node:fs';
import { sqliteStorage } from '../../../src/adapters/sqlite/storage.ts';
import { storageHost } from '../../support/storage-host.ts';

const log = storageHost(console.log);
const PURPOSES = [
  { for: 'service', autoMigrate: false, log },
  { for: 'writing', log },
  { for: 'keys', mayCreate: true, log },
] as const;

for (const purpose of PURPOSES) {
  mkdirSync(purpose.for);
  process.chdir(purpose.for);
  for (const url of process.argv.slice(2)) {
    try {
      const { close } = await sqliteStorage.open(url, purpose);
      await close();
    } catch (error) {
      const { constructor, message } = error as Error;
      console.log(`${constructor.name}: ${message}`);
    }
  }
  process.chdir('..');
}
