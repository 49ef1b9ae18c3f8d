import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/process.ts';
import { GENERATORS } from './generators.ts';

const document = await readFile(join(ROOT, 'docs/clients.md'), 'utf8');

/** The code blocks that follow a link to an example. */
const included = Array.from(
  document.matchAll(/\]\(\.\.\/(examples\/clients\/[^)]+)\):\n\n```\w+\n(.+?)^```$/gms),
  ([, path = '', text = '']) => ({ path, text }),
);

describe('the page about clients', () => {
  it('has an example for curl, TypeScript, Python, Go and Java', () => {
    expect(included.map(({ path }) => path)).toStrictEqual([
      'examples/clients/curl/main.sh',
      'examples/clients/openapi-fetch/generate.mjs',
      'examples/clients/openapi-fetch/main.ts',
      'examples/clients/openapi-python-client/main.py',
      'examples/clients/oapi-codegen/main.go',
      'examples/clients/openapi-generator-java/src/main/java/Main.java',
    ]);
  });

  it.each(included)('shows a piece of $path as it is tested', async ({ path, text }) => {
    expect(await readFile(join(ROOT, path), 'utf8')).toContain(text);
  });

  it.each(Object.entries(GENERATORS))('shows how %s is called', (_name, { generate = '' }) => {
    // The document may break the line.
    expect(document.replaceAll(/ \\\n +/g, ' ')).toContain(generate);
  });
});
