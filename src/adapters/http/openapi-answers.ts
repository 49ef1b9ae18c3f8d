import { PET_STATUSES } from '../../domain/pet.ts';
import { StorageUnavailable } from '../../application/errors.ts';
import { ANSWER_HEADERS } from './answer.ts';
import { BODY_LIMIT } from './body.ts';
import { encodeCursor } from './cursor.ts';
import { DEPRECATION, SUNSET } from './deprecation.ts';
import { type ErrorCode, errorAnswer, RequestRefused } from './errors.ts';
import { type JsonObject, schemaRef } from './openapi-schemas.ts';
import { HEADERS_LIMIT, URL_LIMIT } from './request-target.ts';

/** What each error code means, wherever it occurs. */
export const CODE_MEANING = {
  INVALID_ARGUMENT: 'The request, a parameter or a field breaks a rule. The message names each one.',
  MALFORMED_JSON: 'The body is empty, not JSON, not UTF-8, nested too deeply, or not what its encoding says.',
  INVALID_CURSOR: 'The cursor is not one that the service has given.',
  INVALID_IDEMPOTENCY_KEY: 'The `Idempotency-Key` is too long or malformed.',
  UNAUTHENTICATED: 'The API key is missing or invalid.',
  PET_NOT_FOUND: 'No animal has this id.',
  ROUTE_NOT_FOUND: 'There is nothing at this path.',
  METHOD_NOT_ALLOWED: 'The path does not know this method. `Allow` lists those that it knows.',
  REQUEST_TIMEOUT: 'The request did not arrive in time.',
  GONE: 'The operation has been removed.',
  PAYLOAD_TOO_LARGE: `The body is larger than ${BODY_LIMIT} bytes, as sent or when inflated.`,
  URI_TOO_LONG: `The URL is longer than ${URL_LIMIT} bytes.`,
  UNSUPPORTED_MEDIA_TYPE:
    'The body is not `application/json` in UTF-8, or its `Content-Encoding` is unknown.',
  IDEMPOTENCY_KEY_REUSED: 'The `Idempotency-Key` has been used for another animal. Nothing was added.',
  HEADERS_TOO_LARGE: `Request line and headers are larger than ${HEADERS_LIMIT} bytes.`,
  INTERNAL: 'The service made an error. It is in the log under the request id.',
  UNAVAILABLE: 'The storage cannot be reached now. Of a write the outcome is unknown.',
} satisfies Record<ErrorCode, string>;

const text = (rule: JsonObject) => ({ type: 'string', ...rule });
const exactly = (value: string) => ({ required: true, schema: text({ enum: [value] }), example: value });

const [, retryAfter] = errorAnswer(new StorageUnavailable('no answer')).headers;

/** Every header of an answer but `Content-Type`, which OpenAPI describes as the media type. */
const HEADERS = {
  'X-Request-Id': {
    description: 'Identifies the request in the log: the one that was sent, if it was fit, or a new one.',
    required: true,
    schema: text({ pattern: '^[A-Za-z0-9_.-]{1,64}$' }),
    example: 'f0c1ab6e-5a3c-4a43-9d0f-6f1d4c0d7b1e',
  },
  'X-Content-Type-Options': {
    description: 'The answer is what its `Content-Type` says.',
    ...exactly(ANSWER_HEADERS['X-Content-Type-Options']),
  },
  'Cache-Control': {
    description: 'No answer may be kept by a cache.',
    ...exactly(ANSWER_HEADERS['Cache-Control']),
  },
  'Content-Length': {
    description: 'The length of the body in bytes.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 118,
  },
  'WWW-Authenticate': {
    description:
      'The scheme to use; with `error="invalid_token"` when a key was sent and is not valid (RFC 6750).',
    required: true,
    schema: text({ pattern: '^Bearer realm="petstore"(, error="invalid_token")?$' }),
    example: 'Bearer realm="petstore", error="invalid_token"',
  },
  Allow: {
    description: 'The methods that the path knows.',
    required: true,
    schema: text({ pattern: '^[A-Z]+(, [A-Z]+)*$' }),
    example: 'GET, HEAD, OPTIONS',
  },
  'Retry-After': {
    description: 'After how many seconds a new try makes sense.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: Number(retryAfter),
  },
  Location: {
    description: `The path of the new animal. Left out once getPet is removed, on ${SUNSET.toISOString().slice(0, 10)}.`,
    schema: text({ format: 'uri-reference', pattern: '^/v1/pets/-?[0-9]+$' }),
    example: '/v1/pets/42',
  },
  'Idempotent-Replayed': {
    description: 'Only when an earlier request with the same `Idempotency-Key` has added the animal.',
    schema: text({ enum: ['true'] }),
    example: 'true',
  },
  NextPage: {
    description:
      'The absolute URL of the next page (RFC 8288): this filter and limit, and a cursor. Absent on the last page.',
    schema: text({ pattern: '^<https?://[^<> ]+[?&]cursor=[^<>& ]+>; rel="next"$' }),
    example: `<https://petstore.example/v1/pets?limit=2&status=${PET_STATUSES[0]}&cursor=${encodeCursor(43n)}>; rel="next"`,
  },
  Deprecation: {
    description: 'Since when the operation is deprecated, as a date in seconds since 1970 (RFC 9745).',
    ...exactly(DEPRECATION),
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    ...exactly(SUNSET.toUTCString()),
  },
  DeprecationLink: {
    description: 'Where the deprecation is explained.',
    required: true,
    schema: text({ pattern: '^<https?://[^<> ]+>; rel="deprecation"; type="text/html"$' }),
    example: '<https://petstore.example/docs#getPet>; rel="deprecation"; type="text/html"',
  },
} satisfies Record<string, JsonObject>;

/** The headers of a response by their name on the wire, each with its name among the components. */
export type ResponseHeaders = Readonly<Record<string, keyof typeof HEADERS>>;

const ALWAYS: ResponseHeaders = {
  'X-Request-Id': 'X-Request-Id',
  'X-Content-Type-Options': 'X-Content-Type-Options',
  'Cache-Control': 'Cache-Control',
  'Content-Length': 'Content-Length',
};

/** What every answer of a deprecated operation carries, once the path of the request is known. */
export const DEPRECATED: ResponseHeaders = {
  Deprecation: 'Deprecation',
  Sunset: 'Sunset',
  Link: 'DeprecationLink',
};

export function componentHeaders(): JsonObject {
  return HEADERS;
}

/** A response object. Its examples are named: by error code where it is an error. */
export function response(
  description: string,
  schema: JsonObject,
  examples: Readonly<Record<string, unknown>>,
  headers: ResponseHeaders = {},
): JsonObject {
  const refs = Object.entries({ ...ALWAYS, ...headers }).map(([name, component]): [string, JsonObject] => [
    name,
    { $ref: `#/components/headers/${component}` },
  ]);
  const named = Object.entries(examples).map(([name, value]): [string, JsonObject] => [name, { value }]);
  return {
    description,
    headers: Object.fromEntries(refs),
    content: { 'application/json': { schema, examples: Object.fromEntries(named) } },
  };
}

type Failures = {
  /** What is thrown: all of one status. */
  readonly errors: readonly unknown[];
  readonly headers?: ResponseHeaders;
};

/** The failures that more than one operation has, by the name of their component. */
const SHARED = {
  Unauthorized: {
    errors: [new RequestRefused('UNAUTHENTICATED', 'the API key is not valid')],
    headers: { 'WWW-Authenticate': 'WWW-Authenticate' },
  },
  MethodNotAllowed: {
    errors: [new RequestRefused('METHOD_NOT_ALLOWED', 'this path allows GET, HEAD, OPTIONS')],
    headers: { Allow: 'Allow' },
  },
  RequestTimeout: { errors: [new RequestRefused('REQUEST_TIMEOUT', 'the request did not end in time')] },
  PayloadTooLarge: {
    errors: [new RequestRefused('PAYLOAD_TOO_LARGE', `the body must be at most ${BODY_LIMIT} bytes`)],
  },
  UriTooLong: { errors: [new RequestRefused('URI_TOO_LONG', `the URL must be at most ${URL_LIMIT} bytes`)] },
  HeadersTooLarge: {
    errors: [
      new RequestRefused(
        'HEADERS_TOO_LARGE',
        `the request line and headers must be at most ${HEADERS_LIMIT} bytes`,
      ),
    ],
  },
  Internal: { errors: [new Error('a bug')] },
  Unavailable: {
    errors: [new StorageUnavailable('no answer')],
    headers: { 'Retry-After': 'Retry-After' },
  },
} satisfies Record<string, Failures>;

export type SharedFailure = keyof typeof SHARED;

/** What a request can run into before it is known which operation it is for. */
export const EARLY: readonly SharedFailure[] = [
  'RequestTimeout',
  'PayloadTooLarge',
  'UriTooLong',
  'HeadersTooLarge',
];

export const BUG_OR_METHOD: readonly SharedFailure[] = ['MethodNotAllowed', 'Internal'];

export function componentResponses(): JsonObject {
  return Object.fromEntries(
    Object.entries<Failures>(SHARED).map(([name, { errors, headers }]) => [name, failure(errors, headers)]),
  );
}

/** The responses of an operation to failures that it shares with others, by status. */
export function sharedFailures(names: readonly SharedFailure[], more?: ResponseHeaders): JsonObject {
  const responses = names.map((name) => {
    const { errors, headers }: Failures = SHARED[name];
    return [
      errorAnswer(errors[0]).status,
      more === undefined
        ? { $ref: `#/components/responses/${name}` }
        : failure(errors, { ...headers, ...more }),
    ];
  });
  return Object.fromEntries(responses);
}

/** The response to all failures of one status, from what the service throws at each of them. */
export function failure(errors: readonly unknown[], headers: ResponseHeaders = {}): JsonObject {
  const answers = errors.map(errorAnswer);
  const description = answers.map(({ code }) => `\`${code}\`: ${CODE_MEANING[code]}`).join('\n\n');
  const examples = answers.map(({ code, message, status }): [string, JsonObject] => [
    code,
    { code, message, status },
  ]);
  return response(description, schemaRef('Error'), Object.fromEntries(examples), headers);
}
