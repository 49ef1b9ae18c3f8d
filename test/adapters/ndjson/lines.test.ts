import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { blocksOf, linesOf } from '../../../src/adapters/ndjson/lines.ts';
import { testDirectory } from '../../support/test-directory.ts';

const MAX_LINE_BYTES = 4;

async function linesIn(...texts: readonly string[]): Promise<readonly (readonly string[])[]> {
  const blocks = (async function* () {
    for (const text of texts) yield Buffer.from(text);
  })();
  const batches = await Array.fromAsync(linesOf(blocks, MAX_LINE_BYTES));
  return batches.map((lines) => lines.map(String));
}

it('linesOf reads nothing after the block in which a line is too long', async () => {
  expect(await linesIn('a\n', 'b\n12', '345', '6\nc')).toStrictEqual([['a'], ['b'], ['12345']]);
});

it.each([
  ['the first bytes of a file that has grown', 150_000, 100_000, 100_000],
  ['all bytes of a file that was cut', 100_000, 150_000, 100_000],
])('blocksOf reads %s', async (_, lengthBytes, sizeBytes, expected) => {
  const path = join(await testDirectory(), 'file');
  const content = Buffer.from(Array.from({ length: lengthBytes }, (__, i) => i % 251));
  await writeFile(path, content);
  await using file = await open(path);
  const blocks = await Array.fromAsync(blocksOf(file, sizeBytes));
  expect(Buffer.concat(blocks)).toStrictEqual(content.subarray(0, expected));
});
