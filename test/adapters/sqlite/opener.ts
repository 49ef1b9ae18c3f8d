/**
 * A program that opens URLs in each way that may create a database. Each way has the current directory to itself, and
 * a process has only one of them. Prints warnings and refusals.
 */
import { mkdirSync } from 'node:fs';
import { sqliteStorage } from '../../../src/adapters/sqlite/storage.ts';

const log = { warn: (message: string) => console.log(message) };
const PURPOSES = [
  { for: 'service', autoMigrate: false, log },
  { for: 'writing' },
  { for: 'keys', mayCreate: true },
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
