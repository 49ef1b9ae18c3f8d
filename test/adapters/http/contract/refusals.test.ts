import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../../src');

test('every refusal is created in refusals.ts, which the OpenAPI document uses as well', async () => {
  const creators: string[] = [];
  for await (const path of glob('**/*.ts', { cwd: ROOT })) {
    if ((await readFile(join(ROOT, path), 'utf8')).includes('new RequestRefused(')) creators.push(path);
  }
  expect(creators).toStrictEqual(['adapters/http/contract/refusals.ts']);
});
