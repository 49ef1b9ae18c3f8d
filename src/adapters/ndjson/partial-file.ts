import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Delivered } from '../../application/resume-export.ts';
import { blocksOf, LF } from './lines.ts';
import { PetFileError } from './pet-file-error.ts';
import { type ParseJson, parsePetLine, petLine } from './pet-line.ts';

/**
 * A file of pets that is being written, as `PATH.partial`. It takes its name when it is complete, so that whatever has
 * the name is.
 */
export class PartialFile {
  readonly path: string;
  readonly #target: string;
  readonly #file: FileHandle;

  private constructor(target: string, file: FileHandle) {
    this.path = partialOf(target);
    this.#target = target;
    this.#file = file;
  }

  /** @throws {PetFileError} */
  static async open(path: string): Promise<PartialFile> {
    return attempt(path, async () => {
      const there = await stat(path).catch(absent);
      if (there !== undefined && !there.isFile()) throw new PetFileError(path, undefined, 'is not a file');
      return new PartialFile(path, await open(partialOf(path), 'a+'));
    });
  }

  /** What the file holds up to its last complete line; `undefined` when that is nothing, or no pet. */
  async delivered(parseJson: ParseJson): Promise<Delivered | undefined> {
    return attempt(this.path, async () => {
      const { count, start, end } = await this.#completeLines();
      if (count === 0) return undefined;
      const line = Buffer.alloc(end - 1 - start);
      await this.#file.read(line, 0, line.length, start);
      const last = parsePetLine(line.toString(), parseJson);
      return typeof last === 'string' ? undefined : { count, last };
    });
  }

  /** Removes what comes after the last complete line, or everything. */
  async cut({ toNothing }: { readonly toNothing: boolean }): Promise<void> {
    await attempt(this.path, async () => {
      const { end } = toNothing ? { end: 0 } : await this.#completeLines();
      await this.#file.truncate(end);
    });
  }

  async append(pets: readonly ArchivedPet[]): Promise<void> {
    await attempt(this.path, () => this.#file.appendFile(petLines(pets)));
  }

  /** Gives it its name, in place of a file that had it before. It survives the loss of power then. */
  async complete(): Promise<void> {
    await attempt(this.#target, async () => {
      await this.#file.sync();
      await rename(this.path, this.#target);
      const directory = await open(dirname(this.#target));
      await directory.sync();
      await directory.close();
    });
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** How many there are, and where the last one starts and ends. */
  async #completeLines(): Promise<{ count: number; start: number; end: number }> {
    const found = { count: 0, start: 0, end: 0 };
    let offset = 0;
    for await (const bytes of blocksOf(this.#file)) {
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

function absent(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

async function attempt<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new PetFileError(path, undefined, `cannot be written: ${error.message}`);
  }
}
