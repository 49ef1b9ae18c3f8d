import { readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeNewFile } from '../../../src/adapters/files/durable-files.ts';
import { testDirectory } from '../../support/test-directory.ts';

const other = async (path: string) => writeFile(path, 'other');
const EXISTS = ' exists; choose another FILE';

it.each<readonly [string, before: (path: string) => Promise<void>, during: typeof other, problem: string]>([
  ['exists', other, async () => {}, EXISTS],
  ['is a dangling symbolic link', (path) => symlink('other', path), async () => {}, EXISTS],
  ['is taken while the file is written', async () => {}, other, EXISTS],
  [
    'is being written by another command',
    (path) => other(`${path}.partial`),
    async () => {},
    '.partial exists: wait until the command that writes it has ended, or move the file away if that command was killed',
  ],
])('writeNewFile fails and changes nothing when its path %s', async (_, before, during, problem) => {
  const directory = await testDirectory();
  const path = join(directory, 'new');
  await before(path);

  await expect(writeNewFile(path, () => during(path))).rejects.toMatchObject({
    kind: 'storage-setup',
    message: `${path}${problem}`,
  });

  const [name = '', ...others] = await readdir(directory);
  expect(others).toStrictEqual([]);
  const existing = join(directory, name);
  expect(await readlink(existing).catch(() => readFile(existing, 'utf8'))).toBe('other');
});
