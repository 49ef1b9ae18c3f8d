import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { Pet } from '../../../domain/pet.ts';
import { type ErrorCode, errorAnswer, errorJson } from '../contract/errors.ts';
import {
  HEADERS_TIMEOUT_MS,
  MAX_BODY_BYTES,
  MAX_HEADERS_BYTES,
  MAX_URL_BYTES,
  REQUEST_TIMEOUT_MS,
} from '../contract/limits.ts';
import * as refusals from '../contract/refusals.ts';
import { ALWAYS, LIMITED, NOTHING_LEFT, RATE_LIMIT, type ResponseHeaders, RETRY, shared } from './headers.ts';
import { type JsonObject, schemaRef } from './schemas.ts';

/** The meaning of each error code, for every operation. */
export const CODE_MEANING = {
  INVALID_ARGUMENT: 'The request, a parameter or a field breaks a rule. The message names every problem.',
  MALFORMED_JSON: 'The body is empty, not JSON, not UTF-8, or nested too deeply.',
  INVALID_CURSOR: 'The service did not issue this cursor.',
  INVALID_IDEMPOTENCY_KEY: 'The `Idempotency-Key` is malformed or too long.',
  UNAUTHENTICATED: 'The API key is missing or invalid.',
  PERMISSION_DENIED: 'The API key lacks the scope that the operation needs.',
  PET_NOT_FOUND: 'No animal has this id.',
  ROUTE_NOT_FOUND: 'There is nothing at this path.',
  METHOD_NOT_ALLOWED: 'The path does not support this method. `Allow` lists the methods that it supports.',
  REQUEST_TIMEOUT: `The headers took more than ${HEADERS_TIMEOUT_MS / 1_000} s to arrive, or the request more than ${REQUEST_TIMEOUT_MS / 1_000} s.`,
  GONE: 'The operation has been removed.',
  PAYLOAD_TOO_LARGE: `The body is larger than ${MAX_BODY_BYTES} bytes.`,
  URI_TOO_LONG: `The URL is longer than ${MAX_URL_BYTES} bytes.`,
  UNSUPPORTED_MEDIA_TYPE: 'The body is not `application/json` in UTF-8, or has a `Content-Encoding`.',
  IDEMPOTENCY_KEY_REUSED:
    'The `Idempotency-Key` was used to add a different animal. This request added nothing.',
  RATE_LIMITED: 'The API key has used up its rate limit. `Retry-After` says how many seconds to wait.',
  HEADERS_TOO_LARGE: `The request line and headers are larger than ${MAX_HEADERS_BYTES} bytes.`,
  INTERNAL: 'An internal error. The service has logged it under the request id.',
  UNAVAILABLE:
    'The storage is out of reach, or a stored record is damaged. The outcome of a write is unknown.',
} satisfies Record<ErrorCode, string>;

/** A response object. Each example has a name; that of an error is its code. */
export function response(
  description: string,
  schema: JsonObject,
  examples: Readonly<Record<string, unknown>>,
  headers: ResponseHeaders = {},
): JsonObject {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }] as const);
  return {
    description,
    headers: { ...ALWAYS, ...headers },
    content: { 'application/json': { schema, examples: Object.fromEntries(named) } },
  };
}

/**
 * The responses to failures that several operations have in common, by the name of their component.
 *
 * @param more headers of an operation, which the component does not have
 */
export const sharedFailures = (more: ResponseHeaders = {}) => ({
  Unauthorized: failure([refusals.INVALID_KEY], { ...shared('WWW-Authenticate'), ...more }),
  RequestTimeout: failure([refusals.REQUEST_TIMEOUT]),
  PayloadTooLarge: failure([refusals.BODY_TOO_LARGE], LIMITED),
  ChunkExtensionsTooLarge: failure([refusals.CHUNK_EXTENSIONS_TOO_LARGE]),
  UriTooLong: failure([refusals.URL_TOO_LONG]),
  RateLimited: failure([refusals.rateLimited(RATE_LIMIT, NOTHING_LEFT)], { ...RETRY, ...more }),
  HeadersTooLarge: failure([refusals.HEADERS_TOO_LARGE]),
  Internal: failure([new Error('a bug')], { ...LIMITED, ...more }),
  Unavailable: failure([new StorageUnavailable('no answer')], { ...RETRY, ...more }),
});

/**
 * The response to all failures of one status.
 *
 * @param errors what the service throws
 * @param remark what this operation adds to the meaning of the codes
 */
export function failure(
  errors: readonly unknown[],
  headers: ResponseHeaders = {},
  remark?: string,
): JsonObject {
  const answers = errors.map(errorAnswer);
  const meanings = answers.map(({ code }) => `\`${code}\`: ${CODE_MEANING[code]}`);
  const description = [...meanings, ...(remark === undefined ? [] : [remark])].join('\n\n');
  const examples = answers.map((answer) => [answer.code, JSON.parse(errorJson(answer)) as unknown] as const);
  return response(description, schemaRef('Error'), Object.fromEntries(examples), headers);
}

/** The animals of the examples, as a client reads them. */
export const EXAMPLES = {
  rex: { id: 42, name: 'Rex', categoryId: 7, status: 'available' },
  mia: { id: 43, name: 'Mia 🐈', categoryId: 12, status: 'sold' },
} as const satisfies Record<string, Record<keyof Pet, unknown>>;

/** The error of an example of a refusal. */
export function thrownBy(refused: () => unknown): unknown {
  try {
    refused();
  } catch (error) {
    return error;
  }
  throw new Error('an example of a refusal was not refused');
}
