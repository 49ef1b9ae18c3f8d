import { IdempotencyKeyReused, PetNotFound } from '../../application/errors.ts';
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PAGE_SIZE_MIN } from '../../domain/page-size.ts';
import { newPet, type Pet, storedPet } from '../../domain/pet.ts';
import { BODY_LIMIT } from './body.ts';
import { SUNSET } from './deprecation.ts';
import { RequestRefused } from './errors.ts';
import { IDEMPOTENCY_KEY_MAX_LENGTH } from './idempotency.ts';
import {
  componentHeaders,
  componentResponses,
  DEPRECATED,
  failure,
  response,
  type SharedFailure,
  sharedFailures,
} from './openapi-answers.ts';
import { componentSchemas, type JsonObject, parameter, schemaRef } from './openapi-schemas.ts';
import { API_DESCRIPTION } from './openapi-text.ts';
import { petJson } from './pet-json.ts';
import { NewPet, PageQuery, parse, PetId } from './schemas.ts';

const API_VERSION = '1.0.0';

/** The OpenAPI 3.0.3 document: made of the schemas that validate and the constants that rule. */
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
    servers: [{ url: '/v1', description: 'Version 1 of the API, at the host that serves this document.' }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'animals', description: 'The catalogue of animals.' },
      { name: 'system', description: 'What the service says about itself. Needs no API key.' },
    ],
    paths: {
      '/pets': { parameters: [REQUEST_ID], get: listPets(), post: createPet() },
      '/pets/{petId}': { parameters: [REQUEST_ID], get: getPet() },
      '/livez': system({
        operationId: 'isAlive',
        summary: 'Is the process up?',
        description: 'Never touches the storage: a restart would not mend it.',
        responses: { 200: response('The process is up.', HEALTH, { ok: { status: 'ok' } }) },
      }),
      '/readyz': system({
        operationId: 'isReady',
        summary: 'Can the service do its work?',
        description:
          'Whether the storage can be reached and is at the right schema version. `503` too while the service ' +
          'starts or shuts down.',
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
      parameters: {
        RequestId: {
          name: 'X-Request-Id',
          in: 'header',
          description:
            'Your own identifier of the request. 1 to 64 of the characters A-Z a-z 0-9 `_` `.` `-` are kept, logged ' +
            'and sent back; anything else is replaced, never refused.',
          required: false,
          schema: { type: 'string' },
          example: 'checkout-7f3a',
        },
      },
      headers: componentHeaders(),
      responses: componentResponses(),
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: `Authorization: Bearer <API_KEY>`. The scheme name is case-insensitive.',
        },
      },
    },
  };
}

const REQUEST_ID = { $ref: '#/components/parameters/RequestId' };

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    `Makes the request safe to repeat: 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters of your choice, ` +
    'such as a UUID, bare or in double quotes (inside which spaces and escaped quotes are allowed too).',
  required: false,
  schema: { type: 'string', pattern: `^[!#-~]{1,${IDEMPOTENCY_KEY_MAX_LENGTH}}$` },
  example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
};

const HEALTH = {
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string', enum: ['ok'] } },
};

/** What a request can run into before it is known which operation it is for. */
const EARLY: readonly SharedFailure[] = [
  'RequestTimeout',
  'PayloadTooLarge',
  'UriTooLong',
  'HeadersTooLarge',
];

const BUG_OR_METHOD: readonly SharedFailure[] = ['MethodNotAllowed', 'Internal'];

const API: readonly SharedFailure[] = ['Unauthorized', 'Unavailable', ...BUG_OR_METHOD];

function listPets(): JsonObject {
  return {
    operationId: 'listPets',
    tags: ['animals'],
    summary: 'List animals',
    description:
      'A page of the animals in ascending order of id: up to `limit` of them, which is from ' +
      `${PAGE_SIZE_MIN} to ${PAGE_SIZE_MAX} and ${PAGE_SIZE_DEFAULT} when absent. While more follow, the \`Link\` ` +
      'header carries the URL of the next page; follow it until there is none. Such a walk gives every animal ' +
      'that existed when it began exactly once, whatever is added meanwhile.\n\n' +
      'Each parameter may be given once. Any other parameter is refused.',
    parameters: Object.entries(PageQuery.entries).map(([name, schema]) => parameter('query', name, schema)),
    responses: {
      200: response(
        'A page of animals; an empty array when there are none.',
        schemaRef('Pets'),
        { page: [REX, MIA].map(json), none: [] },
        { Link: 'NextPage' },
      ),
      400: failure([
        thrownBy(() => parse(PageQuery, { limit: String(PAGE_SIZE_MAX + 1), page: '2' }, 'query')),
        thrownBy(() => parse(PageQuery, { cursor: 'page-2' }, 'query')),
      ]),
      ...sharedFailures([...API, ...EARLY]),
    },
  };
}

function createPet(): JsonObject {
  const { name, categoryId, status } = json(REX);
  return {
    operationId: 'createPet',
    tags: ['animals'],
    summary: 'Add an animal',
    description:
      'The answer goes out when the storage has acknowledged the animal as durable. After a `503` or a broken ' +
      'connection it may or may not have been added: send an `Idempotency-Key`, and try again with the same key ' +
      'and the same body; however often, exactly one animal is added. The key is remembered as long as the ' +
      'animal exists; a request that failed leaves none behind. It belongs to the API key that sent it.\n\n' +
      'There are no query parameters; any is refused.',
    parameters: [IDEMPOTENCY_KEY],
    requestBody: {
      description:
        'A JSON object in UTF-8; any other JSON value is refused. `Content-Type` is `application/json`, of the ' +
        'charsets only utf-8; `Content-Encoding` is gzip, deflate, br, identity or absent. At most ' +
        `${BODY_LIMIT} bytes, as sent and when inflated.`,
      required: true,
      content: {
        'application/json': {
          schema: schemaRef('NewPet'),
          examples: {
            minimal: { summary: 'Only what is required', value: { name, categoryId } },
            complete: { summary: 'Every field', value: { name, categoryId, status } },
          },
        },
      },
    },
    responses: {
      201: response(
        'The animal as added.',
        schemaRef('Pet'),
        { pet: json(REX) },
        {
          Location: 'Location',
          'Idempotent-Replayed': 'Idempotent-Replayed',
        },
      ),
      400: failure([
        thrownBy(() => parse(NewPet, { name: '', status: 'asleep' }, 'body')),
        new RequestRefused('MALFORMED_JSON', 'the body is not JSON'),
        new RequestRefused(
          'INVALID_IDEMPOTENCY_KEY',
          'Idempotency-Key must be 1 to 255 visible ASCII characters',
        ),
      ]),
      415: failure([new RequestRefused('UNSUPPORTED_MEDIA_TYPE', 'Content-Type must be application/json')]),
      422: failure([new IdempotencyKeyReused('')]),
      ...sharedFailures([...API, ...EARLY]),
    },
  };
}

function getPet(): JsonObject {
  const sunset = SUNSET.toISOString().slice(0, 10);
  return {
    operationId: 'getPet',
    tags: ['animals'],
    summary: 'Get an animal',
    description:
      `Deprecated; to be removed on ${sunset}, from when on it answers \`410\`. Use \`GET /pets\` with a ` +
      '`status` filter instead. The answers say so in `Deprecation`, `Sunset` and `Link`, unless the request is ' +
      'so broken that its path is not known.\n\n' +
      'There are no query parameters; any is refused.',
    deprecated: true,
    'x-sunset': sunset,
    parameters: [parameter('path', 'petId', PetId)],
    responses: {
      200: response('The animal.', schemaRef('Pet'), { pet: json(REX) }, DEPRECATED),
      400: failure([thrownBy(() => parse(PetId, '042', 'petId'))]),
      404: failure([new PetNotFound(REX.id)], DEPRECATED),
      410: failure(
        [new RequestRefused('GONE', `this operation was removed on ${sunset}; use GET /v1/pets`)],
        DEPRECATED,
      ),
      ...sharedFailures(API, DEPRECATED),
      ...sharedFailures(EARLY),
    },
  };
}

/** A path outside /v1, which needs no key. */
function system({ responses, ...operation }: JsonObject & { readonly responses: JsonObject }): JsonObject {
  return {
    servers: [{ url: '/', description: 'The host that serves this document.' }],
    parameters: [REQUEST_ID],
    get: {
      tags: ['system'],
      security: [],
      ...operation,
      responses: {
        ...responses,
        400: failure([new RequestRefused('INVALID_ARGUMENT', 'the request must have one valid Host header')]),
        ...sharedFailures([...BUG_OR_METHOD, ...EARLY]),
      },
    },
  };
}

const REX = storedPet(42n, newPet({ name: 'Rex', categoryId: 7n }));
const MIA = storedPet(43n, newPet({ name: 'Mia 🐈', categoryId: 12n, status: 'sold' }));

function json(pet: Pet): JsonObject {
  return JSON.parse(petJson(pet)) as JsonObject;
}

function thrownBy(refused: () => unknown): unknown {
  try {
    refused();
  } catch (error) {
    return error;
  }
  throw new Error('an example of a refusal was not refused');
}
