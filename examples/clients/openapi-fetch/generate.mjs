import { writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const BIGINT = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);

// A number of JavaScript does not hold every int64.
const types = await openapiTS(new URL('openapi.json', import.meta.url), {
  transform: ({ format }) => (format === 'int64' ? BIGINT : undefined),
});
await writeFile('schema.d.ts', astToString(types));
