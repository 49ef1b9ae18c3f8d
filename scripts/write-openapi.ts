import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../src/adapters/http/openapi/document.ts';

// For whoever wants the document without a running service. A test holds it to what the service serves.
writeFileSync(
  new URL('../openapi.json', import.meta.url),
  `${JSON.stringify(openApiDocument(), undefined, 2)}\n`,
);
