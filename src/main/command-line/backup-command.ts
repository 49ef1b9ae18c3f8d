import { answer } from './answer.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { UsageError } from './usage-error.ts';

export const backupCommand: Command = {
  async run(given, session) {
    const [file = '-'] = given.positionals;
    if (file === '-') throw new UsageError('a backup needs the name of a file');
    const storage = storageOf('--from', given.options.from, session);
    if (storage.backUp === undefined) {
      throw new UsageError(
        'backup is for SQLite; for MongoDB use mongodump --oplog or snapshots of its volumes',
      );
    }
    session.hint = 'no backup was written; run the same command again';
    await storage.backUp(file, session.onProgress);
    await answer(given, session, `backed up to ${file}\n`, { file });
  },
};
