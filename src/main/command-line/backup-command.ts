import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { UsageError } from './usage-error.ts';

const USAGE = `Usage: npm run petstore -- backup [--from sqlite:PATH] FILE

Copies a SQLite database to FILE: pets, API keys and idempotency keys. A service may use the database at the same
time; every pet acknowledged before the start is in FILE. To restore, start a service on a copy of FILE under a new name.
For MongoDB use mongodump --oplog or snapshots of its volumes.

  --from URL   sqlite:PATH (default: DATABASE_URL)
  FILE         must not exist. It is written as FILE.partial and renamed when it is complete and checked. Only its owner
               can read it. After an interruption there is no FILE
`;

export const backupCommand: Command = {
  name: 'backup',
  usage: USAGE,
  options: ['from'],
  maxPositionals: 1,
  async run({ options: { from }, positionals: [file] }, session) {
    if (file === undefined) throw new UsageError('FILE is missing');
    const storage = storageOf('--from', from, session);
    if (storage.backUp === undefined) {
      throw new UsageError(
        'backup is for SQLite; for MongoDB use mongodump --oplog or snapshots of its volumes',
      );
    }
    session.hint = 'no backup was written, run the same command again';
    await storage.backUp(file, session.onProgress);
    await session.print(`backed up to ${file}\n`);
  },
};
