import { appendFile, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PartialFile, petLines } from '../../../src/adapters/ndjson/partial-file.ts';
import { archivedPets } from '../../support/archived-pets.ts';

const PETS = archivedPets(10);

async function newPath(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-partial-'));
  onTestFinished(async () => rm(directory, { recursive: true }));
  return join(directory, 'pets.ndjson');
}

async function opened(path: string): Promise<PartialFile> {
  const file = await PartialFile.open(path);
  onTestFinished(() => file.close());
  return file;
}

describe('a partial file', () => {
  it('is written by one export at a time', async () => {
    const path = await newPath();
    for (let n = 0; n < 3; n++) {
      const file = await PartialFile.open(path);
      await expect(PartialFile.open(path)).rejects.toThrow(
        `${path}.partial is being written by another export`,
      );
      await file.append(PETS);
      await file.complete();
      await file.close();
      expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
      expect(await readdir(join(path, '..'))).toStrictEqual(['pets.ndjson']);
    }
  });

  it('ignores a stale lock file', async () => {
    const path = await newPath();
    await writeFile(`${path}.partial.lock`, '');
    const file = await opened(path);
    await file.append(PETS);
    await file.complete();
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
  });

  it.each<readonly [string, (partial: string) => Promise<void>]>([
    ['longer', (partial) => appendFile(partial, 'x')],
    [
      'a different file',
      async (partial) => {
        await unlink(partial);
        await writeFile(partial, petLines(PETS.slice(0, 5)));
      },
    ],
    ['missing', (partial) => unlink(partial)],
  ])('stops and never gets its final name once another program has made it %s', async (_, change) => {
    const path = await newPath();
    await writeFile(path, 'older\n');
    const file = await opened(path);
    await file.append(PETS.slice(0, 5));
    await change(file.path);

    const message = `${path}.partial was changed by another program`;
    await expect(file.append(PETS.slice(5))).rejects.toThrow(message);
    await expect(file.complete()).rejects.toThrow(message);
    expect(await readFile(path, 'utf8')).toBe('older\n');
  });

  it('continues after its last complete line', async () => {
    const path = await newPath();
    await writeFile(`${path}.partial`, `${petLines(PETS.slice(0, 4))}{"id":`);
    const file = await opened(path);

    expect(await file.delivered()).toStrictEqual({ count: 4, last: PETS[3] });
    await file.cut();
    await file.append(PETS.slice(4));
    await file.complete();

    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
  });
});
