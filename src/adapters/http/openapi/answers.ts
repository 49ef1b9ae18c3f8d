import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { type ErrorCode, errorAnswer, RequestRefused } from '../wire/errors.ts';
import { rateLimited } from '../middleware/limit-rate.ts';
import { ALWAYS, LIMITED, NOTHING_LEFT, RATE_LIMIT, type ResponseHeaders } from './headers.ts';
import { type JsonObject, schemaRef } from './schemas.ts';
import { insufficientScope } from '../middleware/require-scope.ts';
import { MAX_BODY_BYTES, MAX_HEADERS_BYTES, MAX_URL_BYTES } from '../wire/limits.ts';

/** What each error code means, wherever it occurs. */
export const CODE_MEANING = {
  INVALID_ARGUMENT: 'The request, a parameter or a field breaks a rule. The message names each one.',
  MALFORMED_JSON: 'The body is empty, not JSON, not UTF-8, nested too deeply, or not what its encoding says.',
  INVALID_CURSOR: 'The cursor is not one that the service has given.',
  INVALID_IDEMPOTENCY_KEY: 'The `Idempotency-Key` is too long or malformed.',
  UNAUTHENTICATED: 'The API key is missing or invalid.',
  PERMISSION_DENIED: 'The API key does not have the scope that the operation needs.',
  PET_NOT_FOUND: 'No animal has this id.',
  ROUTE_NOT_FOUND: 'There is nothing at this path.',
  METHOD_NOT_ALLOWED: 'The path does not know this method. `Allow` lists those that it knows.',
  REQUEST_TIMEOUT: 'The request did not arrive in time.',
  GONE: 'The operation has been removed.',
  PAYLOAD_TOO_LARGE: `The body is larger than ${MAX_BODY_BYTES} bytes, as sent or when inflated.`,
  URI_TOO_LONG: `The URL is longer than ${MAX_URL_BYTES} bytes.`,
  UNSUPPORTED_MEDIA_TYPE:
    'The body is not `application/json` in UTF-8, or its `Content-Encoding` is unknown.',
  IDEMPOTENCY_KEY_REUSED: 'The `Idempotency-Key` has been used for another animal. Nothing was added.',
  RATE_LIMITED:
    'The API key has sent as many requests as it may for now. `Retry-After` says for how many seconds.',
  HEADERS_TOO_LARGE: `Request line and headers are larger than ${MAX_HEADERS_BYTES} bytes.`,
  INTERNAL: 'The service made an error. It is in the log under the request id.',
  UNAVAILABLE:
    'The storage cannot be reached now, or a stored record is damaged. Of a write the outcome is unknown.',
} satisfies Record<ErrorCode, string>;

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
  MayNotRead: {
    errors: [insufficientScope('pets:read')],
    headers: { 'WWW-Authenticate': 'ReadScope', ...LIMITED },
  },
  MayNotWrite: {
    errors: [insufficientScope('pets:write')],
    headers: { 'WWW-Authenticate': 'WriteScope', ...LIMITED },
  },
  MethodNotAllowed: {
    errors: [new RequestRefused('METHOD_NOT_ALLOWED', 'this path allows GET, HEAD, OPTIONS')],
    headers: { Allow: 'Allow', ...LIMITED },
  },
  RequestTimeout: { errors: [new RequestRefused('REQUEST_TIMEOUT', 'the request did not end in time')] },
  PayloadTooLarge: {
    errors: [new RequestRefused('PAYLOAD_TOO_LARGE', `the body must be at most ${MAX_BODY_BYTES} bytes`)],
    headers: LIMITED,
  },
  UriTooLong: {
    errors: [new RequestRefused('URI_TOO_LONG', `the URL must be at most ${MAX_URL_BYTES} bytes`)],
  },
  RateLimited: {
    errors: [rateLimited(RATE_LIMIT, NOTHING_LEFT)],
    headers: { 'Retry-After': 'Retry-After', ...LIMITED },
  },
  HeadersTooLarge: {
    errors: [
      new RequestRefused(
        'HEADERS_TOO_LARGE',
        `the request line and headers must be at most ${MAX_HEADERS_BYTES} bytes`,
      ),
    ],
  },
  Internal: { errors: [new Error('a bug')], headers: LIMITED },
  Unavailable: {
    errors: [new StorageUnavailable('no answer')],
    headers: { 'Retry-After': 'Retry-After', ...LIMITED },
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

/**
 * The response to all failures of one status, from what the service throws at each of them.
 *
 * @param remark what holds for one operation beyond the meaning of the codes
 */
export function failure(
  errors: readonly unknown[],
  headers: ResponseHeaders = {},
  remark?: string,
): JsonObject {
  const answers = errors.map(errorAnswer);
  const meanings = answers.map(({ code }) => `\`${code}\`: ${CODE_MEANING[code]}`);
  const description = [...meanings, ...(remark === undefined ? [] : [remark])].join('\n\n');
  const examples = answers.map(({ code, message, status }): [string, JsonObject] => [
    code,
    { code, message, status },
  ]);
  return response(description, schemaRef('Error'), Object.fromEntries(examples), headers);
}
