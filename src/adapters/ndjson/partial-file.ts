import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Delivered } from '../../application/moving/resume-export.ts';
import { type Compression, compressionOf } from './compression.ts';
import { blocksOf, LF } from './lines.ts';
import { PartialLock, undefinedIfAbsent } from './partial-lock.ts';
import { PetFileError } from './pet-file-error.ts';
import { parsePetLine, petLine } from './pet-line.ts';

/** Like a database, for its owner only. */
const NEW_MODE = 0o600;

// O_NOFOLLOW refuses a symbolic link that appears at the last moment, O_NONBLOCK does not wait for the end of a pipe.
const FLAGS =
  constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const COMPRESSED_FLAGS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A file of pets while it is being written. Its name is `PATH.partial` until it is complete, so `PATH` is always a
 * complete file. Only one process at a time can write it. It is plain text, which another run can continue: a `PATH`
 * that ends in `.gz` or `.zst` is compressed when all pets are there.
 */
export class PartialFile {
  readonly path: string;
  readonly #target: string;
  readonly #file: FileHandle;
  readonly #lock: PartialLock;
  readonly #compression: Compression | undefined;
  /** The size that our own writes should have left. */
  #sizeBytes: number;

  private constructor(
    target: string,
    file: FileHandle,
    opened: {
      readonly lock: PartialLock;
      readonly sizeBytes: number;
      readonly compression: Compression | undefined;
    },
  ) {
    this.path = partialOf(target);
    this.#target = target;
    this.#file = file;
    this.#lock = opened.lock;
    this.#sizeBytes = opened.sizeBytes;
    this.#compression = opened.compression;
  }

  /**
   * Opens or creates `PATH.partial`.
   *
   * @param path if it is a symbolic link, its target is written
   * @throws {PetFileError} when the file cannot be written, or another process is writing it
   */
  static async open(path: string): Promise<PartialFile> {
    return attempt(path, async () => {
      const target = await resolveLinks(path);
      const partial = partialOf(target);
      for (const file of [target, partial]) {
        const found = await lstat(file).catch(undefinedIfAbsent);
        if (found !== undefined && !found.isFile()) {
          throw new PetFileError(file, undefined, 'is not a regular file');
        }
      }
      // For a missing directory, this error is clearer than the one of SQLite below.
      if ((await stat(dirname(target)).catch(undefinedIfAbsent)) === undefined) {
        throw new PetFileError(
          path,
          undefined,
          `cannot be written: there is no directory ${dirname(target)}`,
        );
      }
      const lock = await PartialLock.take(partial);
      try {
        const file = await open(partial, FLAGS, NEW_MODE);
        const { size: sizeBytes } = await file.stat();
        return new PartialFile(target, file, { lock, sizeBytes, compression: compressionOf(path) });
      } catch (error) {
        await lock.release();
        throw error;
      }
    });
  }

  /**
   * The pets up to the last complete line, or `undefined` for an empty file.
   *
   * @throws {PetFileError} when the file cannot be read or its last complete line is not a pet
   */
  async delivered(): Promise<Delivered | undefined> {
    return attempt(this.path, async () => {
      if (this.#sizeBytes === 0) return undefined;
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
   * The error for a file that an export cannot continue: it comes from another storage, or a pet has since been stored
   * under an id that the file skips.
   */
  misfit(): PetFileError {
    return new PetFileError(
      this.path,
      undefined,
      'does not match the first pets of this storage as they are now; move it away or export to another FILE',
    );
  }

  /**
   * Removes the bytes after the last complete line.
   *
   * @throws {PetFileError} when the file cannot be written
   */
  async cut(): Promise<void> {
    await attempt(this.path, async () => {
      const { end } = await this.#completeLines();
      await this.#file.truncate(end);
      this.#sizeBytes = end;
    });
  }

  /** @throws {PetFileError} when the file cannot be written, or another program has changed it */
  async append(pets: readonly ArchivedPet[]): Promise<void> {
    await attempt(this.path, async () => {
      await this.#refuseChanged();
      const lines = Buffer.from(petLines(pets));
      await this.#file.appendFile(lines);
      this.#sizeBytes += lines.length;
    });
  }

  /**
   * Renames the file to `PATH`, durably, or writes `PATH` compressed. Keeps the permissions of an older `PATH`.
   *
   * @throws {PetFileError} when `PATH` cannot be written, or another program has changed the file
   */
  async complete(): Promise<void> {
    await attempt(this.#target, async () => {
      const older = await stat(this.#target).catch(undefinedIfAbsent);
      const mode = older === undefined ? NEW_MODE : older.mode & 0o777;
      if (this.#compression === undefined) {
        await this.#file.chmod(mode);
        await this.#file.sync();
        await this.#refuseChanged();
        await rename(this.path, this.#target);
      } else {
        const compressed = await this.#compress(this.#compression, mode);
        await this.#refuseChanged();
        await rename(compressed, this.#target);
        await unlink(this.path);
      }
      await using directory = await open(dirname(this.#target));
      await directory.sync();
    });
  }

  async close(): Promise<void> {
    await this.#file.close();
    await this.#lock.release();
  }

  /** @returns the path of a compressed copy that is on the disk */
  async #compress({ compress }: Compression, mode: number): Promise<string> {
    const path = `${this.path}.compressed`;
    const copy = await open(path, COMPRESSED_FLAGS, NEW_MODE);
    try {
      await pipeline(
        blocksOf(this.#file, this.#sizeBytes),
        compress(),
        async (blocks: AsyncIterable<Buffer>) => {
          for await (const block of blocks) await copy.appendFile(block);
        },
      );
      await copy.chmod(mode);
      await copy.sync();
      return path;
    } catch (error) {
      // Without the room for a copy, the user needs every byte.
      await unlink(path);
      throw error;
    } finally {
      await copy.close();
    }
  }

  /** Another program may have removed the lock or written without one. Then the file never becomes `PATH`. */
  async #refuseChanged(): Promise<void> {
    const ours = await this.#file.stat({ bigint: true });
    const found = await lstat(this.path, { bigint: true }).catch(undefinedIfAbsent);
    if (found?.ino !== ours.ino || ours.size !== BigInt(this.#sizeBytes)) {
      throw new PetFileError(this.path, undefined, 'was changed by another program');
    }
  }

  /** The number of complete lines, and the offsets of the last one in bytes. */
  async #completeLines(): Promise<{ count: number; start: number; end: number }> {
    const found = { count: 0, start: 0, end: 0 };
    let offset = 0;
    for await (const bytes of blocksOf(this.#file, this.#sizeBytes)) {
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

/** The lines of these pets. */
export function petLines(pets: readonly ArchivedPet[]): string {
  return pets.map((pet) => `${petLine(pet)}\n`).join('');
}

function partialOf(path: string): string {
  return `${path}.partial`;
}

/** The target of symbolic links, even if it does not exist. */
async function resolveLinks(path: string): Promise<string> {
  const real = await realpath(path).catch(undefinedIfAbsent);
  if (real !== undefined) return real;
  const link = await lstat(path).catch(undefinedIfAbsent);
  if (!link?.isSymbolicLink()) return path;
  return resolveLinks(resolve(await realpath(dirname(path)), await readlink(path)));
}

/** Translates errors of the file system. */
async function attempt<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new PetFileError(path, undefined, `cannot be written: ${error.message}`);
  }
}
