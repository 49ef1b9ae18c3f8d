import type { Position } from '../../json/json-error-position.ts';
import type { Scope } from '../../../domain/api-key.ts';
import type { RateLimit } from '../../../domain/rate-limit.ts';
import { type Deprecation, sunsetDay } from './deprecation.ts';
import { RequestRefused, RETRY_AFTER } from './errors.ts';
import { MAX_BODY_BYTES, MAX_HEADERS_BYTES, MAX_IDEMPOTENCY_KEY_LENGTH, MAX_URL_BYTES } from './limits.ts';

// Refusals are ordered by status. The OpenAPI document takes its examples from here.

const invalid = (message: string) => new RequestRefused('INVALID_ARGUMENT', message);
const malformed = (message: string) => new RequestRefused('MALFORMED_JSON', message);
const unauthenticated = (message: string, challenge: string) =>
  new RequestRefused('UNAUTHENTICATED', message, { 'WWW-Authenticate': challenge });
const tooLarge = (message: string) => new RequestRefused('PAYLOAD_TOO_LARGE', message);
const unsupported = (message: string) => new RequestRefused('UNSUPPORTED_MEDIA_TYPE', message);

export const NOT_HTTP = invalid('the request is not valid HTTP/1.1');
export const UNKNOWN_HTTP_METHOD = invalid('the request has no HTTP method that this service knows');
export const INVALID_TARGET = invalid('the request target is not a URL');
export const INVALID_HOST = invalid('the request must have one valid Host header');
export const REPEATED_AUTHORIZATION = invalid('the request must have at most one Authorization header');
export const INVALID_FORWARDED_PROTO = invalid('X-Forwarded-Proto must be http or https');
export const INVALID_FORWARDED_HOST = invalid('X-Forwarded-Host must be a host with an optional port');

export function invalidValues(code: 'INVALID_ARGUMENT' | 'INVALID_CURSOR', message: string): RequestRefused {
  return new RequestRefused(code, message);
}

export const BODY_NOT_OBJECT = invalid('the body must be a JSON object');
export const EMPTY_BODY = malformed('the body is empty; it must be a JSON object');
export const BODY_NOT_UTF_8 = malformed('the body is not UTF-8');

export function bodyNotJson({ line, column }: Position): RequestRefused {
  return malformed(`the body is not JSON: see line ${line}, column ${column}`);
}

export const BODY_TOO_DEEP = malformed('the body is nested too deeply');
export const TRUNCATED_BODY = malformed('the body ended too early');
export const INVALID_IDEMPOTENCY_KEY = new RequestRefused(
  'INVALID_IDEMPOTENCY_KEY',
  `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters, bare or in double quotes`,
);

/** Every `WWW-Authenticate` begins with this text: RFC 6750, section 3. */
const REALM = 'Bearer realm="petstore"';
export const NO_CREDENTIALS = unauthenticated(
  'an API key is required, as "Authorization: Bearer <API_KEY>"',
  REALM,
);
const invalidToken = (message: string) => unauthenticated(message, `${REALM}, error="invalid_token"`);
export const MALFORMED_CREDENTIALS = invalidToken(
  'the Authorization header must have "Bearer" once, then one API key: "Authorization: Bearer <API_KEY>"',
);
export const INVALID_API_KEY = invalidToken('the API key is not valid');

export function insufficientScope(scope: Scope): RequestRefused {
  const headers = { 'WWW-Authenticate': scopeChallenge(scope) };
  return new RequestRefused('PERMISSION_DENIED', `the API key does not have the scope ${scope}`, headers);
}

/** RFC 6750, section 3.1. */
export function scopeChallenge(scope: Scope): string {
  return `${REALM}, error="insufficient_scope", scope="${scope}"`;
}

/** @param suggestion a route that equals the path without its trailing slash, or behind a version such as `/v1` */
export function routeNotFound(suggestion?: string): RequestRefused {
  const hint = suggestion === undefined ? '' : `; the path is ${suggestion}`;
  return new RequestRefused('ROUTE_NOT_FOUND', `there is nothing at this path${hint}`);
}

export function methodNotAllowed(allow: string): RequestRefused {
  return new RequestRefused('METHOD_NOT_ALLOWED', `this path allows ${allow}`, { Allow: allow });
}

export const REQUEST_TIMEOUT = new RequestRefused('REQUEST_TIMEOUT', 'the request did not end in time');

export function gone(deprecation: Deprecation): RequestRefused {
  const message = `this operation was removed on ${sunsetDay(deprecation)}; use ${deprecation.replacement}`;
  return new RequestRefused('GONE', message);
}

export const BODY_TOO_LARGE = tooLarge(`the body must be at most ${MAX_BODY_BYTES} bytes`);
export const CHUNK_EXTENSIONS_TOO_LARGE = tooLarge('the chunk extensions are too large');
export const URL_TOO_LONG = new RequestRefused(
  'URI_TOO_LONG',
  `the URL must be at most ${MAX_URL_BYTES} bytes`,
);
export const UNSUPPORTED_MEDIA_TYPE = unsupported(
  'Content-Type must be application/json, with no charset but utf-8',
);
export const UNSUPPORTED_CONTENT_CODING = unsupported('Content-Encoding must be identity or absent');

export function rateLimited({ requests, seconds }: RateLimit, resetSeconds: number): RequestRefused {
  const rule = `the API key may send at most ${requests} requests in ${seconds} s`;
  const headers = { 'Retry-After': String(resetSeconds) };
  return new RequestRefused('RATE_LIMITED', `${rule}; try again in ${resetSeconds} s`, headers);
}

export const HEADERS_TOO_LARGE = new RequestRefused(
  'HEADERS_TOO_LARGE',
  `the request line and headers must be at most ${MAX_HEADERS_BYTES} bytes`,
);
export const SHUTTING_DOWN = new RequestRefused('UNAVAILABLE', 'the service is shutting down', RETRY_AFTER);
