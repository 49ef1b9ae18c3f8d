import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../../src/adapters/http/operations/document.ts';

// This test has its own file, which loads little, because the mutation test runs it for every change of the document.
test('openapi.json contains the OpenAPI document of the service', () => {
  const file = readFileSync(new URL('../../../../openapi.json', import.meta.url), 'utf8');
  expect(file, 'openapi.json is out of date: npm run openapi').toBe(
    `${JSON.stringify(openApiDocument('http://127.0.0.1:3000'), undefined, 2)}\n`,
  );
});
