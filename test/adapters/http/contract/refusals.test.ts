import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../../src');

test('only refusals.ts creates refusals, because the OpenAPI document takes its error examples from this file', async () => {
  const creators: string[] = [];
  for await (const path of glob('**/*.ts', { cwd: ROOT })) {
    if ((await readFile(join(ROOT, path), 'utf8')).includes('new RequestRefused(')) creators.push(path);
  }
  expect(creators).toStrictEqual(['adapters/http/contract/refusals.ts']);
});
