import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../../../../src');

test('only refusals.ts creates a RequestRefused, because the OpenAPI document takes its examples of errors from refusals.ts', async () => {
  const creators: string[] = [];
  for await (const path of glob('**/*.ts', { cwd: SRC })) {
    if ((await readFile(join(SRC, path), 'utf8')).includes('new RequestRefused(')) creators.push(path);
  }
  expect(creators).toStrictEqual(['adapters/http/contract/refusals.ts']);
});
