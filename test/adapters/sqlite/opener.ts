/**
 * A program that opens URLs in each way that may create a database. Each way has the current directory to itself, and
 * a process has only one of them. Prints warnings and refusals.
 */
import { mkdirSync } from 'node:fs';
import { sqliteStorage } from '../../../src/adapters/sqlite/storage.ts';
import { storageHost } from '../../support/storage-host.ts';

const log = storageHost(console.log);
const PURPOSES: Readonly<Record<string, (url: string) => Promise<{ close(): Promise<void> }>>> = {
  service: (url) => sqliteStorage.openService(url, { autoMigrate: false, log }),
  writing: (url) => sqliteStorage.openForWriting(url, log),
  keys: (url) => sqliteStorage.openKeys(url, { mayCreate: true, log }),
};

for (const [purpose, open] of Object.entries(PURPOSES)) {
  mkdirSync(purpose);
  process.chdir(purpose);
  for (const url of process.argv.slice(2)) {
    await open(url).then(
      ({ close }) => close(),
      ({ constructor, message }: Error) => console.log(`${constructor.name}: ${message}`),
    );
  }
  process.chdir('..');
}
