import { PET_STATUSES } from '../../../domain/pet.ts';
import {
  A_YEAR,
  deprecationHeaders,
  GET_PET_DEPRECATION,
  rateLimitLeft,
  rateLimitPolicy,
  REQUEST_ID_PATTERN,
  sunsetDay,
} from '../contract/answer-headers.ts';
import { RETRY_AFTER } from '../contract/errors.ts';
import { CURSOR_PATTERN, encodeCursor } from '../contract/query.ts';
import { scopeChallenge } from '../contract/refusals.ts';
import type { JsonObject } from './schemas.ts';

const DEPRECATION = deprecationHeaders(GET_PET_DEPRECATION);

const optional = (description: string, rule: JsonObject, example: string | number) => ({
  description,
  schema: { type: 'string', ...rule },
  example,
});

const required = (description: string, rule: JsonObject, example: string | number) => ({
  ...optional(description, rule, example),
  required: true,
});

const exactly = (description: string, value: string) => required(description, { enum: [value] }, value);

const MISSING_SCOPE = 'The scope that the API key lacks (RFC 6750).';

/** The rate limit of the examples, used up. */
export const RATE_LIMIT = { requests: 600, seconds: 60 };
export const NOTHING_LEFT = { remaining: 0, resetSeconds: 30 };

/** The response headers that belong to the API, not those of HTTP servers in general. */
export const HEADERS = {
  'X-Request-Id': required(
    'Identifies the request in the log. The id that the client sent if it is valid, otherwise a new one.',
    { pattern: REQUEST_ID_PATTERN },
    'f0c1ab6e-5a3c-4a43-9d0f-6f1d4c0d7b1e',
  ),
  'Strict-Transport-Security': optional(
    'Present where the service or its public URL speaks TLS, except for names of the machine itself (RFC 6797).',
    { enum: [A_YEAR] },
    A_YEAR,
  ),
  'WWW-Authenticate': required(
    'The scheme to use. Has `error="invalid_token"` when the request carried an invalid key (RFC 6750).',
    { pattern: '^Bearer realm="petstore"(, error="invalid_token")?$' },
    'Bearer realm="petstore", error="invalid_token"',
  ),
  ReadScope: exactly(MISSING_SCOPE, scopeChallenge('pets:read')),
  WriteScope: exactly(MISSING_SCOPE, scopeChallenge('pets:write')),
  Allow: required(
    'The methods that the path supports.',
    { pattern: '^[A-Z]+(, [A-Z]+)*$' },
    'GET, HEAD, OPTIONS',
  ),
  'Retry-After': required(
    'How long to wait before retrying, in seconds.',
    { type: 'integer', minimum: 0 },
    Number(RETRY_AFTER['Retry-After']),
  ),
  'RateLimit-Policy': optional(
    'The rate limit of the API key: at most `q` requests in each window of `w` seconds. Absent when the key has ' +
      'no limit.',
    { pattern: '^"key";q=[1-9][0-9]*;w=[1-9][0-9]*$' },
    rateLimitPolicy(RATE_LIMIT),
  ),
  RateLimit: optional(
    'What is left of the limit: `r` requests in the current window, which ends in `t` seconds. Absent when the ' +
      'API key has no limit, or when the service could not count the request.',
    { pattern: '^"key";r=(0|[1-9][0-9]*);t=[1-9][0-9]*$' },
    rateLimitLeft(NOTHING_LEFT),
  ),
  Location: optional(
    'The path of the new animal, below the path of the server. Absent from ' +
      `${sunsetDay(GET_PET_DEPRECATION)} on, when getPet is removed.`,
    { format: 'uri-reference', pattern: '^(/[^?#]*)?/v1/pets/[1-9][0-9]*$' },
    '/v1/pets/42',
  ),
  'Idempotent-Replayed': optional(
    'Present when an earlier request with the same `Idempotency-Key` added the animal.',
    { enum: ['true'] },
    'true',
  ),
  'Next-Cursor': optional(
    'The `cursor` of the next page, for clients that do not parse `Link`. Absent on the last page.',
    { pattern: CURSOR_PATTERN },
    encodeCursor(43n),
  ),
  NextPage: optional(
    'The absolute URL of the next page (RFC 8288), with the same filter and limit. Absent on the last page.',
    { pattern: '^<https?://[^<> ]+[?&]cursor=[^<>& ]+>; rel="next"$' },
    `<https://petstore.example/v1/pets?limit=2&status=${PET_STATUSES[0]}` +
      `&cursor=${encodeCursor(43n)}>; rel="next"`,
  ),
  Deprecation: exactly(
    'When the operation became deprecated, in seconds since 1970 (RFC 9745).',
    DEPRECATION.Deprecation,
  ),
  Sunset: exactly('When the operation will be removed (RFC 8594).', DEPRECATION.Sunset),
  DeprecationLink: required(
    'An explanation of the deprecation.',
    { pattern: '^<https?://[^<> ]+>; rel="deprecation"; type="text/html"$' },
    '<https://petstore.example/docs#getPet>; rel="deprecation"; type="text/html"',
  ),
} satisfies Record<string, JsonObject>;

/** The headers of a response, by the names of their components. */
export type ResponseHeaders = readonly (keyof typeof HEADERS)[];

/** The names on the wire of components that are named for what they say. */
export const ON_THE_WIRE: Readonly<Partial<Record<string, string>>> = {
  ReadScope: 'WWW-Authenticate',
  WriteScope: 'WWW-Authenticate',
  NextPage: 'Link',
  DeprecationLink: 'Link',
};

export const ALWAYS: ResponseHeaders = ['X-Request-Id', 'Strict-Transport-Security'];

/** Headers of a page when another one follows. */
export const NEXT_PAGE: ResponseHeaders = ['NextPage', 'Next-Cursor'];

/** Headers of every answer of a deprecated operation, except when the service could not parse the path. */
export const DEPRECATED: ResponseHeaders = ['Deprecation', 'Sunset', 'DeprecationLink'];

/** Headers of every answer to a request whose API key is known and has a rate limit. */
export const LIMITED: ResponseHeaders = ['RateLimit-Policy', 'RateLimit'];

/** Headers of every answer after which a client should wait. */
export const RETRY: ResponseHeaders = ['Retry-After', ...LIMITED];
