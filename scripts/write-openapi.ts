import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../src/adapters/http/operations/document.ts';

// The document, for readers without a running service. A test compares the file with what the service serves.
writeFileSync(
  new URL('../openapi.json', import.meta.url),
  `${JSON.stringify(openApiDocument('http://127.0.0.1:3000'), undefined, 2)}\n`,
);
