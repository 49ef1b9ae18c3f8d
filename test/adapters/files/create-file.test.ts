import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createFile } from '../../../src/adapters/files/durable-files.ts';
import { closeAfterTest, newPath, openKeys, openService } from '../../support/sqlite.ts';
import { aPet } from '../../support/pets.ts';

it.each([
  ['a service', async (file: string) => void (await openService(file)), ['-shm', '-wal', '.lock']],
  [
    'the command line',
    async (file: string) => void (await closeAfterTest(openKeys(file))),
    ['-shm', '-wal', '.lock'],
  ],
])('a new file and all files beside it can be read only by their user: %s', async (_, open, suffixes) => {
  const directory = join(dirname(await newPath()), 'data', 'deep');
  await open(join(directory, 'petstore.db'));

  const files = ['', ...suffixes].map((end) => [`petstore.db${end}`, 0o600]);
  expect(await modes(directory)).toStrictEqual(Object.fromEntries(files));
  expect([await mode(directory), await mode(dirname(directory))]).toStrictEqual([0o700, 0o700]);
});

it('a new file is created at the target of a dangling symbolic link', async () => {
  const file = await newPath();
  const link = `${file}-link`;
  await symlink(file, link);

  await createFile(link);

  expect(await mode(file)).toBe(0o600);
});

it('a new file and its directories can be created by two programs at the same time', async () => {
  const file = join(dirname(await newPath()), 'data', 'deep', 'petstore.db');
  await Promise.all([createFile(file), createFile(file)]);
  expect(await mode(file)).toBe(0o600);
});

it('a new file is refused where no directory can be created', async ({ skip }) => {
  if (process.platform !== 'linux') skip('only Linux has /proc');
  await expect(createFile('/proc/nothing/deep/pets.db')).rejects.toThrow('ENOENT');
});

it('a new file is not created below a dangling symbolic link', async () => {
  const file = await newPath();
  const link = join(dirname(file), 'link');
  await symlink(join(dirname(file), 'nothing'), link);

  await expect(createFile(join(link, 'petstore.db'))).rejects.toThrow('EEXIST');
});

it('an existing file and its directory keep their permissions, and its WAL has the permissions of the file', async () => {
  const directory = join(dirname(await newPath()), 'data');
  await mkdir(directory);
  await chmod(directory, 0o755);
  const file = join(directory, 'petstore.db');
  await writeFile(file, '');
  await chmod(file, 0o640);

  const { pets } = await openService(file);
  await pets.insert(aPet());

  expect(await mode(directory)).toBe(0o755);
  expect(await modes(directory)).toMatchObject({ 'petstore.db': 0o640, 'petstore.db-wal': 0o640 });
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
