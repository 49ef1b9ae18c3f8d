import { existsSync, statSync } from 'node:fs';
import type { CheckableStorage } from '../../application/ports/storage.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { SqliteApiKeyRepository } from './api-key-repository.ts';
import { connect, refuseTruncated } from './connection.ts';
import { sqliteInspector } from './damage.ts';
import { retryWhileBusy } from './errors.ts';
import { openOrRelease, unguardedWrite } from './open.ts';
import { SqlitePetArchive } from './pet-archive.ts';
import { refuseOtherVersion } from './schema.ts';

/**
 * Opens a read-only connection to examine the file. A connection to a file in WAL mode creates a `-wal` and a `-shm` if
 * they are missing. If there is no WAL, this one ignores them: nothing is created, even in a directory that may be
 * written.
 *
 * @throws {StorageSetupError} when the file is missing, cannot be read, or has another schema version
 */
export async function openSqliteForChecking(path: string): Promise<CheckableStorage> {
  return openOrRelease(path, async (file, opened) => {
    const immutable = !existsSync(`${file}-wal`);
    const before = stateOf(file);
    const db = opened.use(connect(file, { readOnly: true, immutable }));
    await retryWhileBusy(() => refuseTruncated(db));
    await retryWhileBusy(() => refuseOtherVersion(db));
    const keys = new SqliteApiKeyRepository(db, unguardedWrite);
    return {
      archive: new SqlitePetArchive(db, unguardedWrite),
      keys: {
        async list() {
          const found = await keys.list();
          // The last read of a check.
          if (immutable && stateOf(file) !== before) {
            throw new StorageUnavailable(
              `the SQLite file ${file} was changed during the check; run it again`,
            );
          }
          return found;
        },
      },
      inspector: sqliteInspector(db),
      close: async () => db[Symbol.dispose](),
    };
  });
}

function stateOf(file: string): string {
  const { mtimeNs, size, ino } = statSync(file, { bigint: true });
  return `${mtimeNs} ${size} ${ino}`;
}
