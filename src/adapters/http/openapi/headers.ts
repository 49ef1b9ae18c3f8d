import type { Scope } from '../../../domain/api-key.ts';
import { PET_STATUSES } from '../../../domain/pet.ts';
import { CURSOR_PATTERN, encodeCursor } from '../wire/cursor.ts';
import { DEPRECATION, SUNSET_HEADER, SUNSET_DATE } from '../wire/deprecation.ts';
import { RETRY_AFTER } from '../wire/errors.ts';
import { rateLimitLeft, rateLimitPolicy } from '../wire/rate-limit.ts';
import { scopeChallenge } from '../wire/refusals.ts';
import { REQUEST_ID_PATTERN } from '../wire/request-id.ts';
import type { JsonObject } from './schemas.ts';

const text = (rule: JsonObject) => ({ type: 'string', ...rule });
const exactly = (value: string) => ({ required: true, schema: text({ enum: [value] }), example: value });

const missingScope = (scope: Scope) => ({
  description: 'The scope that the API key lacks (RFC 6750).',
  ...exactly(scopeChallenge(scope)),
});

/** The rate limit of the examples, used up. */
export const RATE_LIMIT = { requests: 600, seconds: 60 };
export const NOTHING_LEFT = { remaining: 0, resetSeconds: 30 };

/** The response headers that belong to the API, not those of HTTP servers in general. */
const HEADERS = {
  'X-Request-Id': {
    description:
      'Identifies the request in the log. The id that the client sent if it is valid, otherwise a new one.',
    required: true,
    schema: text({ pattern: REQUEST_ID_PATTERN }),
    example: 'f0c1ab6e-5a3c-4a43-9d0f-6f1d4c0d7b1e',
  },
  'WWW-Authenticate': {
    description:
      'The scheme to use. Has `error="invalid_token"` when the request carried an invalid key (RFC 6750).',
    required: true,
    schema: text({ pattern: '^Bearer realm="petstore"(, error="invalid_token")?$' }),
    example: 'Bearer realm="petstore", error="invalid_token"',
  },
  ReadScope: missingScope('pets:read'),
  WriteScope: missingScope('pets:write'),
  Allow: {
    description: 'The methods that the path supports.',
    required: true,
    schema: text({ pattern: '^[A-Z]+(, [A-Z]+)*$' }),
    example: 'GET, HEAD, OPTIONS',
  },
  'Retry-After': {
    description: 'How long to wait before retrying, in seconds.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: Number(RETRY_AFTER['Retry-After']),
  },
  'RateLimit-Policy': {
    description:
      'The rate limit of the API key: at most `q` requests in each window of `w` seconds. Absent when the key has ' +
      'no limit.',
    schema: text({ pattern: '^"key";q=[1-9][0-9]*;w=[1-9][0-9]*$' }),
    example: rateLimitPolicy(RATE_LIMIT),
  },
  RateLimit: {
    description:
      'What is left of the limit: `r` requests in the current window, which ends in `t` seconds. Absent when the ' +
      'API key has no limit, or when the service could not count the request.',
    schema: text({ pattern: '^"key";r=(0|[1-9][0-9]*);t=[1-9][0-9]*$' }),
    example: rateLimitLeft(NOTHING_LEFT),
  },
  Location: {
    description: `The path of the new animal, below the path of the server. Absent from ${SUNSET_DATE} on, when getPet is removed.`,
    schema: text({ format: 'uri-reference', pattern: '^(/[^?#]*)?/v1/pets/[1-9][0-9]*$' }),
    example: '/v1/pets/42',
  },
  'Idempotent-Replayed': {
    description: 'Present when an earlier request with the same `Idempotency-Key` added the animal.',
    schema: text({ enum: ['true'] }),
    example: 'true',
  },
  'Next-Cursor': {
    description:
      'The `cursor` of the next page, for clients that do not parse `Link`. Absent on the last page.',
    schema: text({ pattern: CURSOR_PATTERN }),
    example: encodeCursor(43n),
  },
  NextPage: {
    description:
      'The absolute URL of the next page (RFC 8288), with the same filter and limit. Absent on the last page.',
    schema: text({ pattern: '^<https?://[^<> ]+[?&]cursor=[^<>& ]+>; rel="next"$' }),
    example:
      `<https://petstore.example/v1/pets?limit=2&status=${PET_STATUSES[0]}` +
      `&cursor=${encodeCursor(43n)}>; rel="next"`,
  },
  Deprecation: {
    description: 'When the operation became deprecated, in seconds since 1970 (RFC 9745).',
    ...exactly(DEPRECATION),
  },
  Sunset: {
    description: 'When the operation will be removed (RFC 8594).',
    ...exactly(SUNSET_HEADER),
  },
  DeprecationLink: {
    description: 'An explanation of the deprecation.',
    required: true,
    schema: text({ pattern: '^<https?://[^<> ]+>; rel="deprecation"; type="text/html"$' }),
    example: '<https://petstore.example/docs#getPet>; rel="deprecation"; type="text/html"',
  },
} satisfies Record<string, JsonObject>;

/** The headers of a response: their names on the wire, and the names of their components. */
export type ResponseHeaders = Readonly<Record<string, keyof typeof HEADERS>>;

export const ALWAYS: ResponseHeaders = { 'X-Request-Id': 'X-Request-Id' };

/** Headers of a page when another one follows. */
export const NEXT_PAGE: ResponseHeaders = { Link: 'NextPage', 'Next-Cursor': 'Next-Cursor' };

/** Headers of every answer of a deprecated operation, except when the service could not parse the path. */
export const DEPRECATED: ResponseHeaders = {
  Deprecation: 'Deprecation',
  Sunset: 'Sunset',
  Link: 'DeprecationLink',
};

/** Headers of every answer to a request whose API key is known and has a rate limit. */
export const LIMITED: ResponseHeaders = { 'RateLimit-Policy': 'RateLimit-Policy', RateLimit: 'RateLimit' };

export function componentHeaders(): JsonObject {
  return HEADERS;
}
