import { componentResponses } from './answers.ts';
import { componentHeaders } from './headers.ts';
import { createPet, getPet, listPets } from './pets.ts';
import { componentSchemas, type JsonObject } from './schemas.ts';

const API_VERSION = '1.0.0';

const description = (base: string) =>
  'A catalogue of animals: list them, add one, get one. Every request carries an API key, as ' +
  '`Authorization: Bearer <API_KEY>`. Every error is exactly `{code, message, status}`.\n\n' +
  `The rules of every operation are at [${base}/docs](${base}/docs#rules): authentication, requests, limits, rate ` +
  'limits, browsers, answers, errors and compatibility.';

const API_KEY: JsonObject = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An API key: `Authorization: Bearer <API_KEY>`. The scheme name is case-insensitive. A key that the ' +
    'service generated begins with `pets_`: its public id of 16 hex digits follows, an underscore, and 49 ' +
    'letters and digits. The operator may configure other keys.',
};

/** What does not depend on where the service is. Made on first use. */
let described: JsonObject | undefined;

/**
 * The OpenAPI 3.0.3 document, generated from the schemas and limits that the service enforces.
 *
 * @param base the base of the service's URLs, without a trailing slash, such as `https://petstore.example`
 */
export function openApiDocument(base: string): JsonObject {
  described ??= {
    security: [{ apiKey: [] }],
    tags: [{ name: 'animals', description: 'The catalogue of animals.' }],
    paths: {
      '/pets': { get: listPets(), post: createPet() },
      '/pets/{petId}': { get: getPet() },
    },
    components: {
      schemas: componentSchemas(),
      headers: componentHeaders(),
      responses: componentResponses(),
      securitySchemes: { apiKey: API_KEY },
    },
  };
  return {
    openapi: '3.0.3',
    info: {
      title: 'Petstore',
      version: API_VERSION,
      description: description(base),
      contact: { name: 'The Petstore maintainers' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: `${base}/v1`, description: 'Version 1 of the API.' }],
    externalDocs: {
      url: `${base}/docs`,
      description: 'The rules of the API, and a form for each operation.',
    },
    ...described,
  };
}
