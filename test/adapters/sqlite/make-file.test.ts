import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeFile } from '../../../src/adapters/sqlite/make-file.ts';
import { openSqliteKeys, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { newFile } from '../../support/sqlite.ts';

describe('what is made for a database', () => {
  it.each([
    ['a service', openSqliteStorage],
    ['the command line', openSqliteKeys],
  ])('is for its user alone: %s', async (_, open) => {
    withUmask(0);
    const directory = join(dirname(await newFile()), 'data', 'deep');
    const { close } = await open(join(directory, 'petstore.db'));
    onTestFinished(close);

    expect(await modes(directory)).toStrictEqual({
      'petstore.db': 0o600,
      'petstore.db-shm': 0o600,
      'petstore.db-wal': 0o600,
      'petstore.db.lock': 0o600,
    });
    expect([await mode(directory), await mode(dirname(directory))]).toStrictEqual([0o700, 0o700]);
  });

  it('leaves the permissions of what is there, and has them for what comes beside the file', async () => {
    withUmask(0);
    const directory = join(dirname(await newFile()), 'data');
    await mkdir(directory);
    await chmod(directory, 0o755);
    const file = join(directory, 'petstore.db');
    await writeFile(file, '');
    await chmod(file, 0o640);

    const { pets, close } = await openSqliteStorage(file);
    onTestFinished(close);
    await pets.insert(newPet({ name: 'Rex', categoryId: 7n }));

    expect(await mode(directory)).toBe(0o755);
    expect(await modes(directory)).toMatchObject({ 'petstore.db': 0o640, 'petstore.db-wal': 0o640 });
  });

  it('is made where a symbolic link leads to that leads to nothing yet', async () => {
    withUmask(0);
    const file = await newFile();
    const link = `${file}-link`;
    await symlink(file, link);

    makeFile(link);

    expect(await mode(file)).toBe(0o600);
  });

  it('is not made where a link leads to a directory that is none', async () => {
    const file = await newFile();
    const link = join(dirname(file), 'link');
    await symlink(join(dirname(file), 'nothing'), link);

    expect(() => makeFile(join(link, 'petstore.db'))).toThrow('EEXIST');
  });
});

async function modes(directory: string): Promise<Record<string, number>> {
  const names = (await readdir(directory)).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await mode(join(directory, name))] as const)),
  );
}

async function mode(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

function withUmask(mask: number): void {
  const before = process.umask(mask);
  onTestFinished(() => void process.umask(before));
}
