import { createWriteStream } from 'node:fs';
import { extname } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import { type WholeFile, writeWholeFile } from '../files/durable-files.ts';
import { petLines } from './pet-line.ts';

/** The message is one line that starts with the path. */
export class PetFileError extends Error {
  readonly kind = 'pet-file';
  readonly fault = 'operator';

  /** @param place the path, or the path and the line as `PATH:LINE:` */
  constructor(place: string, problem: string) {
    super(`${place} ${problem}`);
  }
}

/** An uncompressed file with such a suffix would mislead other programs. */
const OTHER_COMPRESSIONS = ['.zst', '.xz', '.bz2', '.br'];

/** @throws {PetFileError} for the suffix of another compression than gzip */
export function isCompressed(path: string): boolean {
  const ending = extname(path);
  if (!OTHER_COMPRESSIONS.includes(ending)) return ending === '.gz';
  throw new PetFileError(
    path,
    `cannot be used: only .gz is known, not ${ending}; use a pipe, with - as FILE`,
  );
}

/**
 * Replaces an existing file after all pets are written. Follows a symbolic link.
 *
 * @throws {StorageSetupError} when the file cannot be written
 * @throws {PetFileError} when the path has the suffix of another compression than gzip
 * @throws the error of `check` or of `pets`
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
