import type { Command, Given } from './command.ts';
import { storageOf } from './command-storage.ts';
import { UsageError } from './usage-error.ts';

export const backupCommand: Command = {
  async run(given, session) {
    const file = fileOf(given);
    const storage = storageOf('--from', given.options.from, session);
    if (storage.backUp === undefined) {
      throw new UsageError(
        'backup is for SQLite; for MongoDB use mongodump --oplog or snapshots of its volumes',
      );
    }
    session.hint = 'no backup was written; run the same command again';
    await storage.backUp(file, session.onProgress);
    await session.answer(given, `backed up to ${file}\n`, { file });
  },
};

export const restoreCommand: Command = {
  async run(given, session) {
    const file = fileOf(given);
    const storage = storageOf('--to', given.options.to, session);
    if (storage.restore === undefined) {
      throw new UsageError('restore is for SQLite; for MongoDB use mongorestore');
    }
    session.hint = 'run the same command again';
    const kept = await storage.restore(file, session.onProgress);
    const text = kept === undefined ? '' : `; what it replaced is kept as ${kept}`;
    await session.answer(given, `restored ${file}${text}\n`, { file, kept });
  },
};

function fileOf({ positionals: [file = '-'] }: Given): string {
  if (file === '-') throw new UsageError('a backup needs the name of a file');
  return file;
}
