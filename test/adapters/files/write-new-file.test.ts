import { readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeNewFile } from '../../../src/adapters/files/durable-files.ts';
import { testDirectory } from '../../support/test-directory.ts';

const mine = async (path: string) => writeFile(path, 'mine');
const EXISTS = ' exists; choose another FILE';

it.each<readonly [string, before: (path: string) => Promise<void>, during: typeof mine, problem: string]>([
  ['exists', mine, async () => {}, EXISTS],
  ['is a dangling symbolic link', (path) => symlink('mine', path), async () => {}, EXISTS],
  ['is taken while the file is written', async () => {}, mine, EXISTS],
  [
    'is that of a file which another command writes',
    (path) => mine(`${path}.partial`),
    async () => {},
    '.partial exists: wait for the other command, or move away what a killed one left',
  ],
])('a new file is refused when its path %s, and what is there stays', async (_, before, during, problem) => {
  const directory = await testDirectory();
  const path = join(directory, 'new');
  await before(path);

  await expect(writeNewFile(path, () => during(path))).rejects.toMatchObject({
    kind: 'storage-setup',
    message: `${path}${problem}`,
  });

  const [name = '', ...others] = await readdir(directory);
  expect(others).toStrictEqual([]);
  const left = join(directory, name);
  expect(await readlink(left).catch(() => readFile(left, 'utf8'))).toBe('mine');
});
