import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ArchivedPet, OnProgress, PetSource, Survey } from '../../application/ports/pet-archive.ts';
import { importedIdProblem } from '../../domain/pet.ts';
import { gunzipped } from './gunzipped.ts';
import { blocksOf, linesOf } from './lines.ts';
import { formProblem, parsePetLine } from './pet-line.ts';
import { isCompressed, PetFileError } from './write-pet-file.ts';

/** A pet takes at most about 4,000 bytes, even with every character escaped. */
export const MAX_LINE_BYTES = 65_536;

/** One bit for each value of the first seven hexadecimal digits of an idempotency key. */
const FILTER_BYTES = 2 ** 25;

/** One JSON object per line, in ascending order of id. See "A file of pets" in docs/decisions.md. */
export class PetFile implements PetSource, AsyncDisposable {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #sizeBytes: number;
  readonly #isCompressed: boolean;
  #survey: Promise<Survey> | undefined;

  private constructor(path: string, file: FileHandle, sizeBytes: number, compressed: boolean) {
    this.#path = path;
    this.#file = file;
    this.#sizeBytes = sizeBytes;
    this.#isCompressed = compressed;
  }

  /**
   * Copies standard input to a file without a name.
   *
   * @throws {PetFileError} when the file cannot be written
   */
  static async keep(input: AsyncIterable<Uint8Array>): Promise<PetFile> {
    const path = join(tmpdir(), `petstore-${randomUUID()}`);
    try {
      await using openedFiles = new AsyncDisposableStack();
      const file = openedFiles.use(await open(path, 'wx+', 0o600));
      await unlink(path);
      for await (const block of input) await file.appendFile(block);
      const { size } = await file.stat();
      openedFiles.move();
      return new PetFile('standard input', file, size, false);
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      throw new PetFileError('standard input', `cannot be kept in ${tmpdir()}; set TMPDIR: ${error.message}`);
    }
  }

  /** @throws {PetFileError} when the file cannot be opened, is not a regular file, or has an unknown compression */
  static async open(path: string): Promise<PetFile> {
    const compressed = isCompressed(path);
    try {
      // Opening a pipe would wait for its other end.
      if ((await stat(path)).isFile()) {
        const file = await open(path);
        return new PetFile(path, file, (await file.stat()).size, compressed);
      }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      const problem = error.code === 'ENOENT' ? 'does not exist' : `cannot be opened: ${error.message}`;
      throw new PetFileError(path, problem);
    }
    throw new PetFileError(
      path,
      'is not a regular file; an import reads it twice, first to check all of it; use - for standard input',
    );
  }

  /**
   * Checks the file only at the first call.
   *
   * @throws {PetFileError} naming the first bad line
   */
  survey(onProgress: OnProgress): Promise<Survey> {
    return (this.#survey ??= this.#check(onProgress));
  }

  async #check(onProgress: OnProgress): Promise<Survey> {
    let count = 0;
    let lastId = 0n;
    const filter = new Uint8Array(FILTER_BYTES);
    const suspectKeys = new Set<string>();
    for await (const pets of this.#pets()) {
      count += pets.length;
      for (const { idempotency } of pets) {
        if (idempotency !== undefined && wasMarked(filter, idempotency.key)) suspectKeys.add(idempotency.key);
      }
      lastId = pets.at(-1)?.id ?? lastId;
      onProgress({ doing: 'checking', done: count, total: undefined });
    }
    if (suspectKeys.size > 0) for await (const _ of this.#pets(suspectKeys));
    return { count, greatestId: lastId, lastId };
  }

  /** @throws {PetFileError} naming the first bad line */
  async *read(after: bigint): AsyncGenerator<readonly ArchivedPet[]> {
    for await (const pets of this.#pets()) {
      const wantedPets = after < (pets[0]?.id ?? 0n) ? pets : pets.filter(({ id }) => id > after);
      if (wantedPets.length > 0) yield wantedPets;
    }
  }

  async recount({ count }: Survey): Promise<number> {
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  /** @param suspectKeys idempotency keys whose second occurrence is refused */
  async *#pets(suspectKeys?: ReadonlySet<string>): AsyncGenerator<readonly ArchivedPet[]> {
    const foundKeys = new Set<string>();
    let line = 0;
    let lastId = 0n;
    const refusal = (problem: string) => new PetFileError(`${this.#path}:${line}:`, problem);
    for await (const lines of linesOf(this.#blocks(), MAX_LINE_BYTES)) {
      const pets: ArchivedPet[] = [];
      for (const bytes of lines) {
        line++;
        if (bytes.length > MAX_LINE_BYTES) {
          const form = formProblem(bytes.toString('latin1', 0, MAX_LINE_BYTES));
          throw refusal(form ?? `is longer than ${MAX_LINE_BYTES} bytes`);
        }
        if (!isUtf8(bytes)) throw refusal('is not UTF-8');
        // Windows writes a byte order mark at the start of a text. A later line that begins with a mark is not JSON.
        const text = line === 1 ? bytes.toString().replace(/^\ufeff/, '') : bytes.toString();
        if (text.trim() === '') continue;
        const pet = parsePetLine(text);
        if (typeof pet === 'string') throw refusal(pet);
        const problem = pet.id > lastId ? importedIdProblem(pet.id) : orderProblem(pet.id, lastId);
        if (problem !== undefined) throw refusal(problem);
        const { key = '' } = pet.idempotency ?? {};
        if (foundKeys.has(key)) throw refusal('the idempotency key is also that of an earlier pet');
        if (suspectKeys?.has(key) === true) foundKeys.add(key);
        lastId = pet.id;
        pets.push(pet);
      }
      yield pets;
    }
    const { bytesRead } = await this.#file.read(Buffer.alloc(1), 0, 1, this.#sizeBytes);
    if (bytesRead > 0) throw new PetFileError(this.#path, 'has grown since it was opened; try again later');
  }

  #blocks(): AsyncGenerator<Buffer> {
    const blocks = blocksOf(this.#file, this.#sizeBytes);
    if (!this.#isCompressed) return blocks;
    return gunzipped(blocks, this.#sizeBytes, (problem) => new PetFileError(this.#path, problem));
  }
}

/** Marks the bit of the key. @returns whether this or (rarely) another key has marked the same bit before */
function wasMarked(filter: Uint8Array, key: string): boolean {
  const bit = Number.parseInt(key.slice(0, 7), 16);
  const [byte, mask] = [bit >> 3, 1 << (bit & 7)];
  const oldByte = filter[byte]!;
  filter[byte] = oldByte | mask;
  return (oldByte & mask) !== 0;
}

function orderProblem(id: bigint, last: bigint): string {
  return id === last
    ? `the id ${id} is also the id of the pet before`
    : `the id ${id} comes after ${last}; pets must be in ascending order of id`;
}
