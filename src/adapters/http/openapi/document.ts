import { invalidHost } from '../wire/refusals.ts';
import { componentResponses, EARLY_WITHOUT_BODY, failure, response, sharedFailures } from './answers.ts';
import { componentHeaders } from './headers.ts';
import { createPet, getPet, listPets } from './pets.ts';
import { componentSchemas, type JsonObject } from './schemas.ts';
import { API_DESCRIPTION } from './text.ts';

const API_VERSION = '1.0.0';

/** The OpenAPI 3.0.3 document, generated from the schemas and limits that the service enforces. */
export function openApiDocument(): JsonObject {
  return {
    openapi: '3.0.3',
    info: {
      title: 'Petstore',
      version: API_VERSION,
      description: API_DESCRIPTION,
      contact: { name: 'The Petstore maintainers' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: '/v1', description: 'Version 1 of the API, on the host that serves this document.' }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'animals', description: 'The catalogue of animals.' },
      { name: 'system', description: 'Description and health of the service. Needs no API key.' },
    ],
    paths: {
      '/pets': { parameters: [REQUEST_ID_REF], get: listPets(), post: createPet() },
      '/pets/{petId}': { parameters: [REQUEST_ID_REF], get: getPet() },
      '/livez': system({
        operationId: 'isAlive',
        summary: 'Is the process up?',
        description: 'Never touches the storage: restarting the process would not repair it.',
        responses: { 200: response('The process is up.', HEALTH, { ok: { status: 'ok' } }) },
      }),
      '/readyz': system({
        operationId: 'isReady',
        summary: 'Can the service handle requests?',
        description:
          'Checks that the storage is in reach and has the right schema version. Also answers `503` while the ' +
          'service starts or shuts down.',
        responses: {
          200: response('The service is ready.', HEALTH, { ok: { status: 'ok' } }),
          ...sharedFailures(['Unavailable']),
        },
      }),
      '/openapi.json': system({
        operationId: 'getOpenApi',
        summary: 'This document',
        description: 'The description of the API in the OpenAPI 3.0.3 format.',
        responses: {
          200: response('The OpenAPI document.', { type: 'object' }, { document: { openapi: '3.0.3' } }),
        },
      }),
    },
    components: {
      schemas: componentSchemas(),
      parameters: { RequestId: REQUEST_ID },
      headers: componentHeaders(),
      responses: componentResponses(),
      securitySchemes: { apiKey: API_KEY },
    },
  };
}

const REQUEST_ID_REF = { $ref: '#/components/parameters/RequestId' };

const REQUEST_ID: JsonObject = {
  name: 'X-Request-Id',
  in: 'header',
  description:
    'Your identifier for the request: 1 to 64 of the characters A-Z a-z 0-9 `_` `.` `-`. The service logs ' +
    'and returns it. It replaces any other value, and never refuses one.',
  required: false,
  schema: { type: 'string' },
  example: 'checkout-7f3a',
};

const API_KEY: JsonObject = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An API key: `Authorization: Bearer <API_KEY>`. The scheme name is case-insensitive. A key that the ' +
    'service generated begins with `pets_`: its public id of 16 hex digits follows, an underscore, and 49 ' +
    'letters and digits. The operator may configure other keys.',
};

const HEALTH = {
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string', enum: ['ok'] } },
};

/** A path outside `/v1`. Needs no API key. */
function system({ responses, ...operation }: JsonObject & { readonly responses: JsonObject }): JsonObject {
  return {
    servers: [{ url: '/', description: 'The host that serves this document.' }],
    parameters: [REQUEST_ID_REF],
    get: {
      tags: ['system'],
      security: [],
      ...operation,
      responses: {
        ...responses,
        400: failure([invalidHost()]),
        ...sharedFailures(['MethodNotAllowed', 'Internal', ...EARLY_WITHOUT_BODY]),
      },
    },
  };
}
