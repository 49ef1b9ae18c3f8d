import { IdempotencyKeyReused, PetNotFound } from '../../../application/pets/errors.ts';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { Scope } from '../../../domain/api-key.ts';
import {
  newPet,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  PAGE_SIZE_MIN,
  type Pet,
  storedPet,
} from '../../../domain/pet.ts';
import { petJson } from '../../json/pet-json.ts';
import { SUNSET_DATE } from '../wire/deprecation.ts';
import { MAX_BODY_BYTES, MAX_IDEMPOTENCY_KEY_LENGTH } from '../wire/limits.ts';
import {
  bodyNotJson,
  GONE,
  INVALID_IDEMPOTENCY_KEY,
  methodNotAllowed,
  UNSUPPORTED_MEDIA_TYPE,
} from '../wire/refusals.ts';
import { NewPet, PageQuery, parse, PetId } from '../wire/schemas.ts';
import {
  EARLY_WITH_BODY,
  EARLY_WITHOUT_BODY,
  failure,
  response,
  type SharedFailure,
  sharedFailures,
} from './answers.ts';
import { DEPRECATED, LIMITED, NEXT_PAGE } from './headers.ts';
import { type JsonObject, parameter, schemaRef } from './schemas.ts';

const API: readonly SharedFailure[] = ['Unauthorized', 'RateLimited', 'Internal'];

const NEEDS = (scope: Scope) => `Needs an API key with the scope \`${scope}\`.\n\n`;

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    `Makes the request safe to repeat: 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters of your choice, ` +
    'such as the UUID `8e03978e-40d5-43dd-bc93-6894a57f9324`, bare or in double quotes. Double quotes also allow ' +
    'spaces and escaped quotes. Use a new key for each animal.',
  required: false,
  // No example: a tool that fills it in would send the same key for every animal.
  schema: { type: 'string', pattern: `^[!#-~]{1,${MAX_IDEMPOTENCY_KEY_LENGTH}}$` },
};

export function listPets(): JsonObject {
  return {
    operationId: 'listPets',
    tags: ['animals'],
    summary: 'List animals',
    description:
      NEEDS('pets:read') +
      `Returns up to \`limit\` animals in ascending order of id. \`limit\` is from ${PAGE_SIZE_MIN} to ` +
      `${PAGE_SIZE_MAX}, by default ${PAGE_SIZE_DEFAULT}. When more animals follow, the \`Link\` header carries the ` +
      'URL of the next page, and `Next-Cursor` carries its `cursor`. Follow one of them until it is absent. Such a ' +
      'walk returns every animal that existed when the walk began exactly once, even while animals are added. A ' +
      'page never skips an animal whose stored record is ' +
      'damaged: the page ends before that animal, and the next page answers `503`.\n\n' +
      'Each parameter may occur once. Any other parameter is refused.',
    parameters: Object.entries(PageQuery.entries).map(([name, schema]) => parameter('query', name, schema)),
    responses: {
      200: response(
        'A page of animals; an empty array when there are none.',
        schemaRef('Pets'),
        { page: [REX, MIA].map(json), none: [] },
        { ...NEXT_PAGE, ...LIMITED },
      ),
      400: failure(
        [
          thrownBy(() => parse(PageQuery, { limit: String(PAGE_SIZE_MAX + 1), page: '2' }, 'query')),
          thrownBy(() => parse(PageQuery, { cursor: 'page-2' }, 'query')),
        ],
        LIMITED,
      ),
      503: failure(
        [new StorageUnavailable('no answer')],
        { 'Retry-After': 'Retry-After', ...NEXT_PAGE, ...LIMITED },
        'When the first animal of the page is damaged, `Link` and `Next-Cursor` lead to the page after that animal.',
      ),
      ...sharedFailures(['MayNotRead', 'MethodNotAllowed', ...API, ...EARLY_WITHOUT_BODY]),
    },
  };
}

export function createPet(): JsonObject {
  const { name, categoryId, status } = json(REX);
  return {
    operationId: 'createPet',
    tags: ['animals'],
    summary: 'Add an animal',
    description:
      NEEDS('pets:write') +
      'The service answers `201` after the storage has acknowledged the animal as durable. After a `503` or a ' +
      'broken connection the outcome is unknown. Send an `Idempotency-Key` to retry safely: any number of retries ' +
      'with the same key and body adds exactly one animal. The key belongs to the API key that sent it. The ' +
      'service remembers it as long as the animal exists, and remembers no key of a failed request.\n\n' +
      'This operation has no query parameters. Any is refused.',
    parameters: [IDEMPOTENCY_KEY],
    requestBody: {
      description:
        'A JSON object in UTF-8. Any other JSON value is refused. `Content-Type` is `application/json`, with no ' +
        'charset except utf-8. `Content-Encoding` is gzip, deflate, br, identity or absent. At most ' +
        `${MAX_BODY_BYTES} bytes, as sent and after decompression.`,
      required: true,
      content: {
        'application/json': {
          schema: schemaRef('NewPet'),
          examples: {
            minimal: { summary: 'Required fields only', value: { name, categoryId } },
            complete: { summary: 'All fields', value: { name, categoryId, status } },
          },
        },
      },
    },
    responses: {
      201: response(
        'The new animal.',
        schemaRef('Pet'),
        { pet: json(REX) },
        {
          Location: 'Location',
          'Idempotent-Replayed': 'Idempotent-Replayed',
          ...LIMITED,
        },
      ),
      400: failure(
        [
          thrownBy(() => parse(NewPet, { name: '', status: 'asleep' }, 'body')),
          bodyNotJson({ line: 1, column: 15 }),
          INVALID_IDEMPOTENCY_KEY,
        ],
        LIMITED,
      ),
      415: failure([UNSUPPORTED_MEDIA_TYPE], LIMITED),
      422: failure([new IdempotencyKeyReused()], LIMITED),
      ...sharedFailures(['MayNotWrite', 'MethodNotAllowed', 'Unavailable', ...API, ...EARLY_WITH_BODY]),
    },
  };
}

export function getPet(): JsonObject {
  const headers = { ...DEPRECATED, ...LIMITED };
  return {
    operationId: 'getPet',
    tags: ['animals'],
    summary: 'Get an animal',
    description:
      NEEDS('pets:read') +
      `Deprecated. Answers \`410\` from ${SUNSET_DATE} on. Use \`GET /pets\` with a \`status\` filter instead. ` +
      'Every response announces this in `Deprecation`, `Sunset` and `Link`, unless the service could not parse the ' +
      'path.\n\n' +
      'This operation has no query parameters. Any is refused.',
    deprecated: true,
    'x-sunset': SUNSET_DATE,
    parameters: [parameter('path', 'petId', PetId)],
    responses: {
      200: response('The animal.', schemaRef('Pet'), { pet: json(REX) }, headers),
      400: failure([thrownBy(() => parse(PetId, '042', 'petId'))], LIMITED),
      404: failure([new PetNotFound(REX.id)], headers),
      405: failure([methodNotAllowed('GET, HEAD, OPTIONS')], { Allow: 'Allow', ...headers }),
      410: failure([GONE], headers),
      ...sharedFailures(['MayNotRead', 'Unavailable', ...API], DEPRECATED),
      ...sharedFailures(EARLY_WITHOUT_BODY),
    },
  };
}

const REX = storedPet(42n, newPet({ name: 'Rex', categoryId: 7n }));
const MIA = storedPet(43n, newPet({ name: 'Mia 🐈', categoryId: 12n, status: 'sold' }));

function json(pet: Pet): JsonObject {
  return JSON.parse(JSON.stringify(petJson(pet))) as JsonObject;
}

function thrownBy(refused: () => unknown): unknown {
  try {
    refused();
  } catch (error) {
    return error;
  }
  throw new Error('an example of a refusal was not refused');
}
