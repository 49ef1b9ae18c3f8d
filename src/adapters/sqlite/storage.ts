import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StorageLog } from '../../application/ports/storage-log.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { PersistentStorage, StorageKind } from '../../application/ports/storage.ts';

/** Pets and API keys in a SQLite file. */
export const sqliteStorage: StorageKind = {
  urlForm: 'sqlite:PATH',
  persistent: true,
  parseUrl(url) {
    const path = /^sqlite:(.+)$/s.exec(url)?.[1];
    return path === undefined ? undefined : sqliteFile(path);
  },
};

/** A command needs no warnings: a write that fails carries their text. */
const SILENT: StorageLog = { warn: () => {} };

/** The adapter is loaded when the file is opened. */
function sqliteFile(path: string): PersistentStorage {
  return {
    persistent: true,
    async openForService({ log }) {
      const { openSqliteStorage } = await import('./open.ts');
      return openSqliteStorage(path, log);
    },
    async openForReading() {
      const { openSqliteForReading } = await import('./open.ts');
      return openSqliteForReading(path);
    },
    async openForWriting() {
      const { openSqliteStorage } = await import('./open.ts');
      return openSqliteStorage(path, SILENT);
    },
    async openKeys({ mayCreate }) {
      if (!mayCreate && !existsSync(path)) {
        throw new StorageSetupError(`there is no SQLite file ${resolve(path)}`);
      }
      const { openSqliteKeys } = await import('./open.ts');
      return openSqliteKeys(path);
    },
    async backUp(target, onProgress) {
      const { backUp } = await import('./backup.ts');
      await backUp(path, target, onProgress);
    },
  };
}
