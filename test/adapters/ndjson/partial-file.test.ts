import { constants } from 'node:fs';
import {
  appendFile,
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PartialFile, petLines } from '../../../src/adapters/ndjson/partial-file.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { asNobody } from '../../support/as-nobody.ts';
import { makeFifo } from '../../support/fifo.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PETS = archivedPets(10);

async function newPath(ending = ''): Promise<string> {
  return join(await testDirectory(), `pets.ndjson${ending}`);
}

async function opened(path: string): Promise<PartialFile> {
  const file = await PartialFile.open(path);
  onTestFinished(() => file.close());
  return file;
}

/** A whole file of these pets. */
async function written(path: string, pets = PETS): Promise<void> {
  const file = await PartialFile.open(path);
  await file.append(pets);
  await file.complete();
  await file.close();
}

/** Everything in the directory of this path. */
async function besides(path: string): Promise<readonly string[]> {
  return (await readdir(dirname(path))).toSorted();
}

describe('a partial file', () => {
  it('is written by one export at a time', async () => {
    const path = await newPath();
    for (let n = 0; n < 3; n++) {
      const file = await PartialFile.open(path);
      await expect(PartialFile.open(path)).rejects.toMatchObject({
        name: 'PetFileError',
        message: `${path}.partial is being written by another export`,
      });
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

    const changed = { kind: 'pet-file', message: `${path}.partial was changed by another program` };
    await expect(file.append(PETS.slice(5))).rejects.toMatchObject(changed);
    await expect(file.complete()).rejects.toMatchObject(changed);
    expect(await readFile(path, 'utf8')).toBe('older\n');
  });

  it('continues after its last complete line', async () => {
    const pets = archivedPets(2000);
    const path = await newPath();
    // The last lines are beyond the first 64 KiB.
    await writeFile(`${path}.partial`, `${petLines(pets.slice(0, 1900))}{"id":`);
    const file = await opened(path);

    expect(await file.delivered()).toStrictEqual({ count: 1900, last: pets[1899] });
    await file.cut();
    await file.append(pets.slice(1900));
    await file.complete();

    expect(await readFile(path, 'utf8')).toBe(petLines(pets));
  });

  it('may be empty', async () => {
    const file = await opened(await newPath());
    expect(await file.delivered()).toBeUndefined();
  });

  it.each([
    ['without any pets', 'one\ntwo\nthree\n'],
    ['without a complete line', '{"id":1'],
  ])('cannot continue what another program wrote: %s', async (_, text) => {
    const path = await newPath();
    await writeFile(`${path}.partial`, text);
    const file = await opened(path);
    await expect(file.delivered()).rejects.toMatchObject({
      kind: 'pet-file',
      message:
        `${path}.partial does not match the first pets of this storage as they are now; ` +
        'move it away or export to another FILE',
    });
    expect(await readFile(`${path}.partial`, 'utf8')).toBe(text);
  });

  it('reports what the system refuses', async () => {
    const path = await newPath();
    const file = await PartialFile.open(path);
    await file.close();
    await expect(file.cut()).rejects.toMatchObject({
      kind: 'pet-file',
      message: `${path}.partial cannot be written: file closed`,
    });
  });
});

describe('a complete file', () => {
  it.each([
    ['is for its owner only', undefined, 0o600],
    ['stays readable for others', 0o644, 0o644],
    ['stays private', 0o600, 0o600],
  ])('%s', async (_, before, after) => {
    const path = await newPath();
    if (before !== undefined) {
      await writeFile(path, 'older\n');
      await chmod(path, before);
    }
    await written(path);
    expect((await stat(path)).mode & 0o777).toBe(after);
  });

  it.each([
    ['an existing file', 'older\n', 'pets.ndjson'],
    ['a missing file', undefined, 'pets.ndjson'],
    ['an existing file, by way of a linked directory', 'older\n', 'linked/pets.ndjson'],
    ['a missing file, by way of a linked directory', undefined, 'linked/pets.ndjson'],
  ])('is the target of a symbolic link: %s', async (_, text, name) => {
    const directory = await testDirectory();
    const [elsewhere, link] = [join(directory, 'elsewhere'), join(directory, name)];
    await mkdir(join(directory, 'far', 'away'), { recursive: true });
    await symlink('far/away', join(directory, 'linked'));
    // The target is relative to where the link really is.
    const target = join(dirname(link) === directory ? '' : '../..', 'elsewhere', 'real.ndjson');
    await symlink(target, link);
    await mkdir(elsewhere);
    if (text !== undefined) await writeFile(join(elsewhere, 'real.ndjson'), text);
    await written(link);
    expect(await readlink(link)).toBe(target);
    expect(await readFile(link, 'utf8')).toBe(petLines(PETS));
    expect(await readdir(elsewhere)).toStrictEqual(['real.ndjson']);
  });

  it.each([
    ['.gz', gunzipSync],
    ['.zst', zstdDecompressSync],
  ])('is compressed if its name says so: %s', async (ending, decompress) => {
    const path = await newPath(ending);
    await writeFile(path, 'older', { mode: 0o640 });
    await writeFile(`${path}.partial.compressed`, `what kill -9 left ${'x'.repeat(100_000)}`);
    const pets = archivedPets(2000);
    await written(path, pets);
    expect(decompress(await readFile(path)).toString()).toBe(petLines(pets));
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect(await besides(path)).toStrictEqual([`pets.ndjson${ending}`]);
  });

  it.each([
    ['.gz', 5, gunzipSync, 'incorrect data check'],
    ['.zst', 1, zstdDecompressSync, "Restored data doesn't match checksum"],
  ])('ends with a checksum if it is compressed: %s', async (ending, fromEnd, decompress, problem) => {
    const path = await newPath(ending);
    await written(path);
    const damaged = await readFile(path);
    damaged[damaged.length - fromEnd]! ^= 1;
    expect(() => decompress(damaged)).toThrow(problem);
  });
});

describe('a compressed copy', () => {
  it('is removed when it cannot be written, and the pets are kept', async () => {
    const path = await newPath('.gz');
    const copy = `${path}.partial.compressed`;
    await makeFifo(copy);
    await using reader = await open(copy, constants.O_RDONLY | constants.O_NONBLOCK);
    const file = await opened(path);
    await file.append(PETS);

    // A pipe cannot be synchronised with the disk.
    await expect(file.complete()).rejects.toMatchObject({
      kind: 'pet-file',
      message: `${path} cannot be written: EINVAL: invalid argument, fsync`,
    });

    expect(await besides(path)).toStrictEqual([`pets.ndjson.gz.partial`, `pets.ndjson.gz.partial.lock`]);
    expect(await readFile(`${path}.partial`, 'utf8')).toBe(petLines(PETS));
    // A pipe ends when no writer has it open.
    expect(gunzipSync(await reader.readFile()).toString()).toBe(petLines(PETS));
  });
});

describe('a path that cannot be written', () => {
  it.each(['pets.ndjson', 'pets.ndjson.partial'])('is a pipe: %s', async (name) => {
    const path = await newPath();
    const pipe = join(dirname(path), name);
    await makeFifo(pipe);
    await expect(PartialFile.open(path)).rejects.toMatchObject({
      kind: 'pet-file',
      message: `${pipe} is not a regular file`,
    });
    expect(await besides(path)).toStrictEqual([name]);
  });

  it('is in a directory that does not exist', async () => {
    const path = join(await testDirectory(), 'nowhere', 'pets.ndjson');
    await expect(PartialFile.open(path)).rejects.toMatchObject({
      kind: 'pet-file',
      message: `${path} cannot be written: there is no directory ${dirname(path)}`,
    });
  });

  it('is below a file', async () => {
    const path = join(await newPath(), 'pets.ndjson');
    await writeFile(dirname(path), '');
    await expect(PartialFile.open(path)).rejects.toMatchObject({
      kind: 'pet-file',
      message: expect.stringMatching(`^${RegExp.escape(path)} cannot be written: ENOTDIR`),
    });
  });

  it('lacks the permission to write it, and is not left locked', async () => {
    const path = await newPath();
    const partial = `${path}.partial`;
    await writeFile(partial, '', { mode: 0o400 });
    await asNobody(dirname(path), 0o777, () =>
      expect(PartialFile.open(path)).rejects.toMatchObject({
        kind: 'pet-file',
        message: `${path} cannot be written: EACCES: permission denied, open '${partial}'`,
      }),
    );
    expect(await besides(path)).toStrictEqual(['pets.ndjson.partial']);
  });

  it.each<readonly [string, (lock: string) => Promise<unknown>, string]>([
    ['a directory', (lock) => mkdir(lock), 'unable to open database file'],
    ['a file of something else', (lock) => writeFile(lock, 'x'.repeat(5000)), 'file is not a database'],
  ])('cannot be locked, because its lock is %s', async (_, make, problem) => {
    const path = await newPath();
    const lock = `${path}.partial.lock`;
    await make(lock);
    await expect(PartialFile.open(path)).rejects.toMatchObject({
      kind: 'pet-file',
      message: `${path}.partial cannot be locked: ${lock}: ${problem}`,
    });
    expect(await besides(path)).toStrictEqual(['pets.ndjson.partial.lock']);
  });
});

it('a partial file leaves no file open', async ({ skip }) => {
  if (process.platform !== 'linux') {
    skip('only Linux has /proc');
    return;
  }
  const path = await newPath('.gz');
  const file = await PartialFile.open(path);
  await expect(PartialFile.open(path)).rejects.toThrow('is being written');
  await file.append(PETS);
  await file.complete();
  await file.close();
  expect(await openFilesIn(dirname(path))).toStrictEqual([]);
});
