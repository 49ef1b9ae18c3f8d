import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../../src/adapters/http/operations/document.ts';

// A file of its own, which loads little: it meets every mutant of the document.
test('openapi.json contains the OpenAPI document', () => {
  const file = readFileSync(new URL('../../../../openapi.json', import.meta.url), 'utf8');
  expect(file, 'openapi.json is out of date: npm run openapi').toBe(
    `${JSON.stringify(openApiDocument('http://127.0.0.1:3000'), undefined, 2)}\n`,
  );
});
