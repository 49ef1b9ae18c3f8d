import { createWriteStream } from 'node:fs';
import { extname } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import { type WholeFile, writeWholeFile } from '../files/durable-files.ts';
import { petLines } from './pet-line.ts';

/** A file of pets cannot be read or written. The message is one line that starts with the path and the line number. */
export class PetFileError extends Error {
  readonly kind = 'pet-file';
  readonly fault = 'operator';

  /** @param place the path, or the path and the line as `PATH:LINE:` */
  constructor(place: string, problem: string) {
    super(`${place} ${problem}`);
  }
}

/** Other programs compress in these formats, and a plain file of such a name would mislead them. */
const OTHER_COMPRESSIONS = ['.zst', '.xz', '.bz2', '.br'];

/** @throws {PetFileError} when the name is that of another compression than gzip */
export function isCompressed(path: string): boolean {
  const ending = extname(path);
  if (!OTHER_COMPRESSIONS.includes(ending)) return ending === '.gz';
  throw new PetFileError(
    path,
    `cannot be used: only .gz is known, not ${ending}; use a pipe, with - as FILE`,
  );
}

/**
 * Writes a file of pets, compressed if its name ends in `.gz`. An older file is replaced once all pets are written.
 *
 * @param path if it is a symbolic link, its target is written
 * @param check refuses a file that must not be replaced
 * @throws {StorageSetupError} when the file cannot be written
 * @throws {PetFileError} when the name ends in that of another compression
 * @throws what `check` and the pets throw
 */
export async function writePetFile(
  path: string,
  check: WholeFile['check'],
  pets: AsyncIterable<readonly ArchivedPet[]>,
): Promise<void> {
  const compressed = isCompressed(path);
  await writeWholeFile(path, {
    check,
    write: (partial) =>
      pipeline(
        linesFor(pets),
        compressed ? createGzip() : new PassThrough(),
        createWriteStream(partial, { flags: 'r+' }),
      ),
  });
}

async function* linesFor(batches: AsyncIterable<readonly ArchivedPet[]>): AsyncGenerator<string> {
  for await (const pets of batches) yield petLines(pets);
}
