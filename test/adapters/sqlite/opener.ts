/**
 * A program that opens each of its URLs in three ways, all of which may create a database. Each way works in a
 * directory of its own, and the program prints the warnings and refusals. The tests start it as a process, because a
 * process has only one current directory.
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
