import { chmod, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { refuseFileBesideDatabase } from '../../../src/adapters/files/database-files.ts';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { writePetFile } from '../../../src/adapters/ndjson/write-pet-file.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { makeFifo } from '../../support/fifo.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PETS = archivedPets(2000);

async function newPath(ending = ''): Promise<string> {
  return join(await testDirectory(), `pets.ndjson${ending}`);
}

async function write(path: string): Promise<void> {
  await writePetFile(path, refuseFileBesideDatabase, batches());
}

/** @param failure what the storage throws after the first batch */
async function* batches(failure?: Error) {
  yield PETS.slice(0, 1000);
  if (failure !== undefined) throw failure;
  yield PETS.slice(1000);
}

it('a complete file has lines of the same form as in every earlier build', () => {
  const idempotency = { key: 'a'.repeat(64), fingerprint: 'b'.repeat(64) };
  const hashes = `"idempotency":{"key":"${idempotency.key}","fingerprint":"${idempotency.fingerprint}"}`;
  expect(petLines([anArchivedPet({ id: 1n, idempotency })])).toBe(
    `{"id":1,"name":"Rex","categoryId":7,"status":"available",${hashes}}\n`,
  );
});

it.each([
  ['is readable by its owner only if it is new', undefined, 0o600],
  ['is readable by others if the older file was', 0o644, 0o644],
  ['is readable by its owner only if the older file was', 0o600, 0o600],
])('a complete file %s', async (_, before, after) => {
  const path = await newPath();
  if (before !== undefined) {
    await writeFile(path, 'older\n');
    await chmod(path, before);
  }
  await write(path);
  expect((await stat(path)).mode & 0o777).toBe(after);
  expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
  expect(await readdir(dirname(path))).toStrictEqual(['pets.ndjson']);
});

it.each([
  ['an existing file', 'older\n', 'pets.ndjson'],
  ['a missing file, by way of a linked directory', undefined, 'linked/pets.ndjson'],
])('a complete file replaces the target of a symbolic link: %s', async (_, text, name) => {
  const directory = await testDirectory();
  const [elsewhere, link] = [join(directory, 'elsewhere'), join(directory, name)];
  await mkdir(join(directory, 'far', 'away'), { recursive: true });
  await symlink('far/away', join(directory, 'linked'));
  // The target is relative to the directory in which the link is, not to the path by which it is reached.
  const target = join(dirname(link) === directory ? '' : '../..', 'elsewhere', 'real.ndjson');
  await symlink(target, link);
  await mkdir(elsewhere);
  if (text !== undefined) await writeFile(join(elsewhere, 'real.ndjson'), text);
  await write(link);
  expect(await readlink(link)).toBe(target);
  expect(await readFile(link, 'utf8')).toBe(petLines(PETS));
  expect(await readdir(elsewhere)).toStrictEqual(['real.ndjson']);
});

it('a complete file is compressed if its name ends in .gz', async () => {
  const path = await newPath('.gz');
  await write(path);
  expect(gunzipSync(await readFile(path)).toString()).toBe(petLines(PETS));
  expect(await readdir(dirname(path))).toStrictEqual(['pets.ndjson.gz']);
});

it.each(['.zst', '.xz', '.bz2', '.br'])(
  'a file whose name ends in %s is refused and not written',
  async (ending) => {
    const path = await newPath(ending);
    await expect(write(path)).rejects.toMatchObject({
      kind: 'pet-file',
      message: `${path} cannot be used: only .gz is known, not ${ending}; use a pipe, with - as FILE`,
    });
    expect(await readdir(dirname(path))).toStrictEqual([]);
  },
);

it.each(['', '.gz'])('a failed export leaves the older file and no other: pets.ndjson%s', async (ending) => {
  const path = await newPath(ending);
  await writeFile(path, 'older\n');
  const failure = new Error('the storage is gone');
  await expect(writePetFile(path, refuseFileBesideDatabase, batches(failure))).rejects.toBe(failure);
  expect(await readFile(path, 'utf8')).toBe('older\n');
  expect(await readdir(dirname(path))).toStrictEqual([`pets.ndjson${ending}`]);
  expect(process.platform === 'linux' ? await openFilesIn(dirname(path)) : []).toStrictEqual([]);
});

it.each<readonly [string, string, (path: string) => Promise<void>]>([
  ['a pipe', ' is not a regular file; choose another FILE$', makeFifo],
  ['a link to itself', ' cannot be written: ELOOP', (path) => symlink(path, path)],
  ['a path below a file', '/pets cannot be written: ENOTDIR', (path) => writeFile(path, '')],
])('the error of a failed export names its path: %s', async (what, message, make) => {
  const path = await newPath();
  await make(path);
  await expect(write(what === 'a path below a file' ? join(path, 'pets') : path)).rejects.toMatchObject({
    kind: 'storage-setup',
    message: expect.stringMatching(`^${RegExp.escape(path)}${message}`),
  });
});
