import { type BigIntStats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { StorageLog } from '../../application/ports/storage-health.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { fileOf, transaction } from './connection.ts';
import { serviceLockPath } from './service-lock.ts';
import { WalGrowth } from './wal-growth.ts';

/**
 * Runs a write in one transaction, and returns only if the next start will find what it has committed.
 *
 * @throws {StorageUnavailable} when a file is missing
 * @throws what the write throws, after which nothing is committed
 * @throws the error of SQLite
 */
export type GuardedWrite = <T>(write: () => T) => T;

/** The longest time between two checks of every file while writes continue. */
const CHECK_INTERVAL_MS = 1_000;

/** The coarsest timestamps of any file system, those of FAT. Two changes within that time may look like one. */
const TIMESTAMP_RESOLUTION_MS = 2_000;

const LOCK_ADVICE =
  'another service may be using the file now; put it back, or stop both services and start one';

type GuardedFile = {
  readonly path: string;
  /** When it was opened. */
  readonly stats: BigIntStats;
  /** What an operator can do when it is missing. */
  readonly advice: string;
};

/**
 * Refuses writes while the database file, its WAL, the WAL index or the service lock is missing. An operator may
 * remove, rename or replace any of them. SQLite would keep writing to the open files, which the next start cannot find.
 * Reads continue, because their results are correct. Writes resume when every file is back.
 *
 * The guard checks the timestamps of the directory after every commit, before it acknowledges the write. They change
 * with every name in the directory. Then, and at least once every {@link CHECK_INTERVAL_MS}, the guard checks every
 * file. It does not check the WAL itself after every commit: since Linux 6.13, reading the timestamps of a file makes
 * the next write update them, and the `fsync` of a commit would have to write them too.
 *
 * The guard does not notice a file that is overwritten in place.
 */
export class FileGuard {
  readonly #db: DatabaseSync;
  readonly #log: StorageLog;
  readonly #file: string;
  readonly #wal: GuardedFile;
  readonly #files: readonly GuardedFile[];
  readonly #walGrowth: WalGrowth;
  #problem: string | undefined;
  #directory: BigIntStats | undefined;
  /** The last change was so long ago that the next one must change the timestamps. */
  #isDirectorySettled = false;
  /** On the clock of `performance.now()`, like the next. */
  #directoryChangedAtMs = performance.now();
  #checkedAtMs = performance.now();

  /**
   * @param db a connection that has read something, so that its WAL exists
   * @param opened.ino the inode that had the name of the file before the connection was opened
   * @param opened.holdsLock whether this process holds the service lock
   * @throws {StorageUnavailable} when a file is missing already, or was replaced since
   */
  constructor(
    db: DatabaseSync,
    log: StorageLog,
    { ino, holdsLock }: { readonly ino: bigint; readonly holdsLock: boolean },
  ) {
    const file = fileOf(db);
    this.#db = db;
    this.#log = log;
    this.#file = file;
    this.#wal = guarded(`${file}-wal`, 'put it back, or stop the service with SIGTERM and start it again');
    this.#files = [
      guarded(
        file,
        `put it back under its name and leave ${file}-wal where it is (reads still work; on Linux the file can be ` +
          `copied from /proc/${process.pid}/fd while this process runs)`,
      ),
      this.#wal,
      guarded(`${file}-shm`, 'put it back, or stop every program that has the file open'),
      ...(holdsLock ? [guarded(serviceLockPath(file), LOCK_ADVICE)] : []),
    ];
    if (this.#files[0]?.stats.ino !== ino) {
      throw new StorageUnavailable(`${file} was replaced while it was being opened`);
    }
    this.#walGrowth = new WalGrowth(db, file, log);
  }

  readonly guardedWrite: GuardedWrite = (write) => {
    const isDue = performance.now() - this.#checkedAtMs >= CHECK_INTERVAL_MS;
    if (this.#problem !== undefined || isDue) {
      this.#checkFiles();
      this.#walGrowth.note(statSync(this.#wal.path).size);
      this.#checkedAtMs = performance.now();
    }
    const result = transaction(this.#db, write);
    if (this.#mayDirectoryHaveChanged()) this.#checkFiles();
    return result;
  };

  /** Waits for a checkpoint in progress. */
  async close(): Promise<void> {
    await this.#walGrowth.close();
  }

  #mayDirectoryHaveChanged(): boolean {
    const directory = statOf(dirname(this.#file));
    // A change of a name changes both times of the directory. Nobody can set back the `ctime`.
    const isSame = directory?.ctimeNs === this.#directory?.ctimeNs && directory?.ino === this.#directory?.ino;
    if (isSame && this.#isDirectorySettled) return false;
    if (!isSame) this.#directoryChangedAtMs = performance.now();
    this.#directory = directory;
    this.#isDirectorySettled = performance.now() - this.#directoryChangedAtMs >= TIMESTAMP_RESOLUTION_MS;
    return true;
  }

  /** @throws {StorageUnavailable} when a file is missing */
  #checkFiles(): void {
    const missing = this.#files.filter((file) => !isInPlace(file));
    const problem = missing.length === 0 ? undefined : describe(missing);
    if (problem !== this.#problem) {
      this.#problem = problem;
      this.#log.warn(problem ?? `${this.#file} and the files beside it are back in place: writes resume`);
      // Saves the WAL before anything else can go wrong. If more is missing, other programs may use another WAL index.
      if (missing.length === 1 && missing[0] === this.#wal) this.#saveRemovedWal();
    }
    if (problem !== undefined) throw new StorageUnavailable(problem);
  }

  /**
   * Copies the removed WAL, which is still open, into the database file. Never throws: the caller may have committed a
   * write, and SQLITE_BUSY would repeat it.
   */
  #saveRemovedWal(): void {
    let outcome = 'could not be';
    try {
      const [row] = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
      if (row?.['busy'] === 0n) outcome = 'were';
    } catch (error) {
      outcome += ` (${String(error)})`;
    }
    const contents = `the contents of the removed write-ahead log ${this.#wal.path}`;
    this.#log.warn(`${contents} ${outcome} saved in ${this.#file}`);
  }
}

function describe(missing: readonly GuardedFile[]): string {
  const each = missing.map(({ path, advice }) => `${path} was removed, renamed or replaced: ${advice}`);
  return `writes are refused until this is fixed: ${each.join('; ')}`;
}

function guarded(path: string, advice: string): GuardedFile {
  const stats = statOf(path);
  if (stats === undefined) throw new StorageUnavailable(`${path} was removed while it was being opened`);
  return { path, stats, advice };
}

function isInPlace({ path, stats: { dev, ino } }: GuardedFile): boolean {
  const stats = statOf(path);
  return stats?.ino === ino && stats.dev === dev;
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}
