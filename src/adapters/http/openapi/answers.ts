import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { Pet } from '../../../domain/pet.ts';
import { errorAnswer, errorJson, ERRORS } from '../contract/errors.ts';
import * as refusals from '../contract/refusals.ts';
import { COMMON_HEADERS, EXAMPLE, LIMITED, type ResponseHeaders, RETRY_HEADERS, shared } from './headers.ts';
import { type JsonObject, schemaRef } from './schemas.ts';

export function response(
  description: string,
  schema: JsonObject,
  examples: Readonly<Record<string, unknown>>,
  headers: ResponseHeaders = {},
): JsonObject {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }] as const);
  return {
    description,
    headers: { ...COMMON_HEADERS, ...headers },
    content: { 'application/json': { schema, examples: Object.fromEntries(named) } },
  };
}

const RATE_LIMITED = refusals.rateLimited(EXAMPLE.limit, EXAMPLE.left.resetSeconds);

/** @param more the headers of a deprecated operation */
export const sharedFailures = (more: ResponseHeaders = {}) => ({
  Unauthorized: failure([refusals.INVALID_API_KEY], { ...shared('WWW-Authenticate'), ...more }),
  RequestTimeout: failure([refusals.REQUEST_TIMEOUT]),
  PayloadTooLarge: failure([refusals.BODY_TOO_LARGE], LIMITED),
  ChunkExtensionsTooLarge: failure([refusals.CHUNK_EXTENSIONS_TOO_LARGE]),
  UriTooLong: failure([refusals.URL_TOO_LONG]),
  RateLimited: failure([RATE_LIMITED], { ...RETRY_HEADERS, ...more }),
  HeadersTooLarge: failure([refusals.HEADERS_TOO_LARGE]),
  Internal: failure([new Error('a bug')], { ...LIMITED, ...more }),
  Unavailable: failure([new StorageUnavailable('no answer')], { ...RETRY_HEADERS, ...more }),
});

export function failure(errors: readonly unknown[], headers: ResponseHeaders = {}, ...remarks: string[]) {
  const answers = errors.map(errorAnswer);
  const meanings = answers.map(({ code }) => `\`${code}\`: ${ERRORS[code][1]}`);
  const description = [...meanings, ...remarks].join('\n\n');
  const examples = answers.map((answer) => [answer.code, JSON.parse(errorJson(answer)) as unknown] as const);
  return response(description, schemaRef('Error'), Object.fromEntries(examples), headers);
}

export const EXAMPLES = {
  rex: { id: 42, name: 'Rex', categoryId: 7, status: 'available' },
  mia: { id: 43, name: 'Mia 🐈', categoryId: 12, status: 'sold' },
} as const satisfies Record<string, Record<keyof Pet, unknown>>;
