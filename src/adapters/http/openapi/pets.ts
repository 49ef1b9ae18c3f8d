import { IdempotencyKeyReused, PetNotFound } from '../../../application/pets/errors.ts';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PAGE_SIZE_MIN } from '../../../domain/page-size.ts';
import { newPet, type Pet, storedPet } from '../../../domain/pet.ts';
import type { Scope } from '../../../domain/api-key.ts';
import { SUNSET } from '../middleware/deprecation.ts';
import { RequestRefused } from '../wire/errors.ts';
import { BUG_OR_METHOD, EARLY, failure, response, type SharedFailure, sharedFailures } from './answers.ts';
import { DEPRECATED, LIMITED } from './headers.ts';
import { type JsonObject, parameter, schemaRef } from './schemas.ts';
import { petJson } from '../../json/pet-json.ts';
import { NewPet, PageQuery, parse, PetId } from '../wire/schemas.ts';
import { MAX_BODY_BYTES, MAX_IDEMPOTENCY_KEY_LENGTH } from '../wire/limits.ts';

const API: readonly SharedFailure[] = ['Unauthorized', 'RateLimited', ...BUG_OR_METHOD];

const NEEDS = (scope: Scope) => `Needs an API key with the scope \`${scope}\`.\n\n`;

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    `Makes the request safe to repeat: 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters of your choice, ` +
    'such as a UUID, bare or in double quotes (inside which spaces and escaped quotes are allowed too).',
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
      'A page of the animals in ascending order of id: up to `limit` of them, which is from ' +
      `${PAGE_SIZE_MIN} to ${PAGE_SIZE_MAX} and ${PAGE_SIZE_DEFAULT} when absent. While more follow, the \`Link\` ` +
      'header carries the URL of the next page; follow it until there is none. Such a walk gives every animal ' +
      'that existed when it began exactly once, whatever is added meanwhile. A page never leaves out an animal ' +
      'whose stored record is damaged: it ends before it, however short, and the next page answers `503`.\n\n' +
      'Each parameter may be given once. Any other parameter is refused.',
    parameters: Object.entries(PageQuery.entries).map(([name, schema]) => parameter('query', name, schema)),
    responses: {
      200: response(
        'A page of animals; an empty array when there are none.',
        schemaRef('Pets'),
        { page: [REX, MIA].map(json), none: [] },
        { Link: 'NextPage', ...LIMITED },
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
        { 'Retry-After': 'Retry-After', Link: 'NextPage', ...LIMITED },
        'Where the page would begin with an animal whose record is damaged, `Link` carries the URL of the page ' +
          'that begins after that animal.',
      ),
      ...sharedFailures(['MayNotRead', ...API, ...EARLY]),
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
        `${MAX_BODY_BYTES} bytes, as sent and when inflated.`,
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
          ...LIMITED,
        },
      ),
      400: failure(
        [
          thrownBy(() => parse(NewPet, { name: '', status: 'asleep' }, 'body')),
          new RequestRefused('MALFORMED_JSON', 'the body is not JSON'),
          new RequestRefused(
            'INVALID_IDEMPOTENCY_KEY',
            'Idempotency-Key must be 1 to 255 visible ASCII characters',
          ),
        ],
        LIMITED,
      ),
      415: failure(
        [new RequestRefused('UNSUPPORTED_MEDIA_TYPE', 'Content-Type must be application/json')],
        LIMITED,
      ),
      422: failure([new IdempotencyKeyReused()], LIMITED),
      ...sharedFailures(['MayNotWrite', 'Unavailable', ...API, ...EARLY]),
    },
  };
}

export function getPet(): JsonObject {
  const sunset = SUNSET.toISOString().slice(0, 10);
  const headers = { ...DEPRECATED, ...LIMITED };
  return {
    operationId: 'getPet',
    tags: ['animals'],
    summary: 'Get an animal',
    description:
      NEEDS('pets:read') +
      `Deprecated; to be removed on ${sunset}, from when on it answers \`410\`. Use \`GET /pets\` with a ` +
      '`status` filter instead. The answers say so in `Deprecation`, `Sunset` and `Link`, unless the request is ' +
      'so broken that its path is not known.\n\n' +
      'There are no query parameters; any is refused.',
    deprecated: true,
    'x-sunset': sunset,
    parameters: [parameter('path', 'petId', PetId)],
    responses: {
      200: response('The animal.', schemaRef('Pet'), { pet: json(REX) }, headers),
      400: failure([thrownBy(() => parse(PetId, '042', 'petId'))], LIMITED),
      404: failure([new PetNotFound(REX.id)], headers),
      410: failure(
        [new RequestRefused('GONE', `this operation was removed on ${sunset}; use GET /v1/pets`)],
        headers,
      ),
      ...sharedFailures(['MayNotRead', 'Unavailable', ...API], DEPRECATED),
      ...sharedFailures(EARLY),
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
