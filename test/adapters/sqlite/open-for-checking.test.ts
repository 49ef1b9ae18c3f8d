import { readdir, readFile, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { aKey } from '../../support/api-keys.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import {
  checkpoint,
  closeAfterTest,
  fileWith,
  fileAfterKill,
  openForChecking,
  openService,
} from '../../support/sqlite.ts';

const PETS = archivedPets(300);

const closedFile = () => fileWith(PETS, aKey(1));

describe('a check of a SQLite file', () => {
  it('reads a closed file, and creates no other file', async () => {
    const file = await closedFile();
    const before = await readdir(dirname(file));

    const { archive, keys, close } = await closeAfterTest(openForChecking(file));

    expect(await archive.read(0n, 1000)).toStrictEqual(PETS);
    expect(await keys.list()).toStrictEqual([aKey(1)]);
    expect(await readdir(dirname(file))).toStrictEqual(before);
    await close();
    await expect(keys.list()).rejects.toThrow(StorageUnavailable);
    await expect(archive.read(0n, 1)).rejects.toThrow(StorageUnavailable);
  });

  it('reads the write-ahead log of a crashed service', async () => {
    const file = await fileAfterKill(({ archive }) => archive.write(PETS));
    const before = [await readFile(file), await readFile(`${file}-wal`)];
    const { archive, close } = await closeAfterTest(openForChecking(file));

    expect(await archive.count(1000n)).toBe(300);
    await close();
    expect([await readFile(file), await readFile(`${file}-wal`)]).toStrictEqual(before);
  });

  it('sees what a service stores later, even if the log was empty when the check began', async () => {
    const file = await closedFile();
    const service = await openService(file);
    checkpoint(file);
    const { keys } = await closeAfterTest(openForChecking(file));

    await service.keys.insert(aKey(2));

    expect(await keys.list()).toStrictEqual([aKey(1), aKey(2)]);
  });

  it('fails when another program changes a closed file during the check', async () => {
    const file = await closedFile();
    const { keys } = await closeAfterTest(openForChecking(file));

    await utimes(file, 1, 1);

    await expect(keys.list()).rejects.toStrictEqual(
      new StorageUnavailable(`the SQLite file ${file} was changed during the check; run it again`),
    );
  });
});
