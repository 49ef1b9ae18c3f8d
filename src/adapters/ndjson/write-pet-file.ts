import { createWriteStream } from 'node:fs';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import { refuseDatabaseFile } from '../files/database-files.ts';
import { writeWholeFile } from '../files/durable-files.ts';
import { compressionOf } from './compression.ts';
import { petLines } from './pet-line.ts';

/**
 * Writes a file of pets, compressed if its name ends in `.gz` or `.zst`. An older file is replaced once all pets are
 * written.
 *
 * @param path if it is a symbolic link, its target is written
 * @throws {StorageSetupError} when the file cannot be written, or is part of a database
 * @throws what the pets throw
 */
export async function writePetFile(path: string, pets: AsyncIterable<readonly ArchivedPet[]>): Promise<void> {
  await writeWholeFile(path, {
    check: refuseDatabaseFile,
    write: (partial) =>
      pipeline(
        linesOf(pets),
        compressionOf(path)?.compress() ?? new PassThrough(),
        createWriteStream(partial, { flags: 'r+' }),
      ),
  });
}

async function* linesOf(batches: AsyncIterable<readonly ArchivedPet[]>): AsyncGenerator<string> {
  for await (const pets of batches) yield petLines(pets);
}
