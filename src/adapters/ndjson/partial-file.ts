import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, rename, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Delivered } from '../../application/moving/resume-export.ts';
import { blocksOf, LF } from './lines.ts';
import { absent, PartialLock } from './partial-lock.ts';
import { PetFileError } from './pet-file-error.ts';
import { parsePetLine, petLine } from './pet-line.ts';

/** As a database of pets: for its owner alone. */
const NEW_MODE = 0o600;

// No symbolic link that somebody has put in the way, and no waiting for the other end of a pipe.
const FLAGS =
  constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A file of pets that is being written, as `PATH.partial`. It takes its name when it is complete, so that whatever has
 * the name is. One process at a time writes it.
 */
export class PartialFile {
  readonly path: string;
  readonly #target: string;
  readonly #file: FileHandle;
  readonly #lock: PartialLock;
  /** In bytes, as far as we know. */
  #size: number;

  private constructor(target: string, file: FileHandle, lock: PartialLock, size: number) {
    this.path = partialOf(target);
    this.#target = target;
    this.#file = file;
    this.#lock = lock;
    this.#size = size;
  }

  /**
   * @param path where it is a symbolic link, what that leads to is written
   * @throws {PetFileError} also when another process writes it
   */
  static async open(path: string): Promise<PartialFile> {
    return attempt(path, async () => {
      const target = await behindLinks(path);
      const partial = partialOf(target);
      for (const file of [target, partial]) {
        const there = await lstat(file).catch(absent);
        if (there !== undefined && !there.isFile()) throw new PetFileError(file, undefined, 'is not a file');
      }
      // Of a directory that is not there SQLite says less.
      await stat(dirname(target));
      const lock = await PartialLock.take(partial);
      try {
        const file = await open(partial, FLAGS, NEW_MODE);
        const { size } = await file.stat();
        return new PartialFile(target, file, lock, size);
      } catch (error) {
        await lock.release();
        throw error;
      }
    });
  }

  /**
   * What the file holds up to its last complete line; `undefined` when it is empty.
   *
   * @throws {PetFileError} when it holds no pets
   */
  async delivered(): Promise<Delivered | undefined> {
    return attempt(this.path, async () => {
      if (this.#size === 0) return undefined;
      const { count, start, end } = await this.#completeLines();
      if (count === 0) throw this.misfit();
      const line = Buffer.alloc(end - 1 - start);
      await this.#file.read(line, 0, line.length, start);
      const last = parsePetLine(line.toString());
      if (typeof last === 'string') throw this.misfit();
      return { count, last };
    });
  }

  /**
   * What to throw when an export cannot go on with the file: it is of another storage, or a pet has been stored since
   * then under an id that was passed over.
   */
  misfit(): PetFileError {
    return new PetFileError(
      this.path,
      undefined,
      'does not hold the first pets of this storage, as they are now; move it away or export to another FILE',
    );
  }

  /** Removes what comes after the last complete line. */
  async cut(): Promise<void> {
    await attempt(this.path, async () => {
      const { end } = await this.#completeLines();
      await this.#file.truncate(end);
      this.#size = end;
    });
  }

  async append(pets: readonly ArchivedPet[]): Promise<void> {
    await attempt(this.path, async () => {
      await this.#refuseChanged();
      const lines = Buffer.from(petLines(pets));
      await this.#file.appendFile(lines);
      this.#size += lines.length;
    });
  }

  /** Gives it its name, and the permissions of a file that had it before. It survives the loss of power then. */
  async complete(): Promise<void> {
    await attempt(this.#target, async () => {
      const older = await stat(this.#target).catch(absent);
      await this.#file.chmod(older === undefined ? NEW_MODE : older.mode & 0o777);
      await this.#file.sync();
      await this.#refuseChanged();
      await rename(this.path, this.#target);
      const directory = await open(dirname(this.#target));
      await directory.sync();
      await directory.close();
    });
  }

  async close(): Promise<void> {
    await this.#file.close();
    await this.#lock.release();
  }

  /** Somebody may have removed the lock, or may write without one: then no file gets the name. */
  async #refuseChanged(): Promise<void> {
    const ours = await this.#file.stat({ bigint: true });
    const there = await lstat(this.path, { bigint: true }).catch(absent);
    if (there?.ino !== ours.ino || ours.size !== BigInt(this.#size)) {
      throw new PetFileError(this.path, undefined, 'was changed by somebody else meanwhile');
    }
  }

  /** How many there are, and where the last one starts and ends. */
  async #completeLines(): Promise<{ count: number; start: number; end: number }> {
    const found = { count: 0, start: 0, end: 0 };
    let offset = 0;
    for await (const bytes of blocksOf(this.#file, this.#size)) {
      for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
        found.count++;
        found.start = found.end;
        found.end = offset + at + 1;
      }
      offset += bytes.length;
    }
    return found;
  }
}

/** Each pet as a line. */
export function petLines(pets: readonly ArchivedPet[]): string {
  return pets.map((pet) => `${petLine(pet)}\n`).join('');
}

function partialOf(path: string): string {
  return `${path}.partial`;
}

/** Where symbolic links lead to, whether or not there is anything. */
async function behindLinks(path: string): Promise<string> {
  const real = await realpath(path).catch(absent);
  if (real !== undefined) return real;
  const there = await lstat(path).catch(absent);
  return there?.isSymbolicLink() ? behindLinks(resolve(dirname(path), await readlink(path))) : path;
}

async function attempt<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new PetFileError(path, undefined, `cannot be written: ${error.message}`);
  }
}
