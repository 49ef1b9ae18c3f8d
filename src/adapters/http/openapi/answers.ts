import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { Pet } from '../../../domain/pet.ts';
import { errorAnswer, errorJson, ERRORS } from '../contract/errors.ts';
import * as refusals from '../contract/refusals.ts';
import { ALWAYS, LIMITED, NOTHING_LEFT, RATE_LIMIT, type ResponseHeaders, RETRY, shared } from './headers.ts';
import { type JsonObject, schemaRef } from './schemas.ts';

/** @param examples the values by name. The name of an error example is its code */
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

/** @param more headers that the shared component does not have */
export const sharedFailures = (more: ResponseHeaders = {}) => ({
  Unauthorized: failure([refusals.INVALID_KEY], { ...shared('WWW-Authenticate'), ...more }),
  RequestTimeout: failure([refusals.REQUEST_TIMEOUT]),
  PayloadTooLarge: failure([refusals.BODY_TOO_LARGE], LIMITED),
  ChunkExtensionsTooLarge: failure([refusals.CHUNK_EXTENSIONS_TOO_LARGE]),
  UriTooLong: failure([refusals.URL_TOO_LONG]),
  RateLimited: failure([refusals.rateLimited(RATE_LIMIT, NOTHING_LEFT.resetSeconds)], { ...RETRY, ...more }),
  HeadersTooLarge: failure([refusals.HEADERS_TOO_LARGE]),
  Internal: failure([new Error('a bug')], { ...LIMITED, ...more }),
  Unavailable: failure([new StorageUnavailable('no answer')], { ...RETRY, ...more }),
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
