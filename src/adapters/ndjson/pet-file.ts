import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { PetSource, Survey } from '../../application/ports/pet-source.ts';
import type { OnProgress } from '../../application/ports/progress.ts';
import { PetFileError } from './pet-file-error.ts';
import { LineTooLong, linesOf } from './lines.ts';
import { parsePetLine } from './pet-line.ts';

/** Of a line, in bytes. A pet has at most some 4 thousand, also when all of its name is escaped. */
export const MAX_LINE_BYTES = 65_536;

/** Strict, and a byte order mark is a character like any other: it makes the first line no JSON. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A file of pets, one JSON object a line, in ascending order of id. */
export class PetFile implements PetSource {
  readonly #path: string;
  readonly #file: FileHandle;
  /** In bytes, when it was opened. */
  readonly #size: number;

  private constructor(path: string, file: FileHandle, size: number) {
    this.#path = path;
    this.#file = file;
    this.#size = size;
  }

  /** @throws {PetFileError} when it cannot be opened */
  static async open(path: string): Promise<PetFile> {
    try {
      // Opening a pipe would wait for its other end in a thread that nothing can stop, not even the end of the process.
      if ((await stat(path)).isFile()) {
        const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
        const opened = await file.stat();
        if (opened.isFile()) return new PetFile(path, file, opened.size);
        await file.close();
      }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      throw new PetFileError(path, undefined, `cannot be opened: ${error.message}`);
    }
    throw new PetFileError(path, undefined, 'is not a file, which is read twice: first to check all of it');
  }

  /** @throws {PetFileError} naming the first line that is wrong */
  async survey(onProgress: OnProgress): Promise<Survey> {
    let count = 0;
    let lastId = 0n;
    for await (const pets of this.#pets()) {
      count += pets.length;
      lastId = pets.at(-1)?.id ?? lastId;
      onProgress({ doing: 'checking', done: count, total: undefined });
    }
    return { count, greatestId: lastId, lastId };
  }

  async *read(after: bigint): AsyncGenerator<readonly ArchivedPet[]> {
    for await (const pets of this.#pets()) {
      const wanted = after < (pets[0]?.id ?? 0n) ? pets : pets.filter(({ id }) => id > after);
      if (wanted.length > 0) yield wanted;
    }
  }

  async recount({ count }: Survey): Promise<number> {
    return count;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** Checks each line again, because somebody may have changed the file since the last time. */
  async *#pets(): AsyncGenerator<readonly ArchivedPet[]> {
    let line = 0;
    let lastId = 0n;
    try {
      for await (const lines of linesOf(this.#file, this.#size, MAX_LINE_BYTES)) {
        const pets: ArchivedPet[] = [];
        for (const bytes of lines) {
          line++;
          const pet = parsePetLine(this.#decode(bytes, line));
          if (typeof pet === 'string') throw new PetFileError(this.#path, line, pet);
          if (pet.id <= lastId) throw new PetFileError(this.#path, line, misplaced(pet.id, lastId));
          lastId = pet.id;
          pets.push(pet);
        }
        yield pets;
      }
      await this.#refuseLonger();
    } catch (error) {
      if (!(error instanceof LineTooLong)) throw error;
      throw new PetFileError(this.#path, error.before + 1, `is longer than ${MAX_LINE_BYTES} bytes`);
    }
  }

  async #refuseLonger(): Promise<void> {
    const { bytesRead } = await this.#file.read(Buffer.alloc(1), 0, 1, this.#size);
    if (bytesRead > 0) throw new PetFileError(this.#path, undefined, 'has grown since it was opened');
  }

  #decode(bytes: Buffer, line: number): string {
    try {
      return utf8.decode(bytes);
    } catch {
      throw new PetFileError(this.#path, line, 'is not UTF-8');
    }
  }
}

function misplaced(id: bigint, last: bigint): string {
  return id === last
    ? `the id ${id} is that of the line before`
    : `the id ${id} comes after ${last}; pets must be in ascending order of id, each once`;
}
