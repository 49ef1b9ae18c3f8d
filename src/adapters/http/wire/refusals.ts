import type { Place } from '../../json/json-error-place.ts';
import type { Allowance } from '../../../application/ports/rate-limiter.ts';
import type { RateLimit, Scope } from '../../../domain/api-key.ts';
import { SUNSET_DATE } from './deprecation.ts';
import { type ErrorCode, RequestRefused, RETRY_AFTER } from './errors.ts';
import { MAX_BODY_BYTES, MAX_HEADERS_BYTES, MAX_IDEMPOTENCY_KEY_LENGTH, MAX_URL_BYTES } from './limits.ts';

// Every refusal of the HTTP layer, in the order of its status. The OpenAPI document takes its examples from here.

export function notHttp(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'the request is not valid HTTP/1.1');
}

export function unknownHttpMethod(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'the request has no HTTP method that this service knows');
}

export function invalidTarget(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'the request target is not a URL');
}

export function invalidHost(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'the request must have one valid Host header');
}

export function repeatedAuthorization(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'the request must have at most one Authorization header');
}

export function invalidForwardedProto(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'X-Forwarded-Proto must be http or https');
}

export function invalidForwardedHost(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'X-Forwarded-Host must be a host with an optional port');
}

/** Path, query or body values break rules. The message names every problem. */
export function invalidValues(
  code: Extract<ErrorCode, 'INVALID_ARGUMENT' | 'INVALID_CURSOR'>,
  problems: readonly string[],
): RequestRefused {
  return new RequestRefused(code, problems.join('; '));
}

export function bodyNotObject(): RequestRefused {
  return new RequestRefused('INVALID_ARGUMENT', 'the body must be a JSON object');
}

export function emptyBody(): RequestRefused {
  return new RequestRefused('MALFORMED_JSON', 'the body is empty; it must be a JSON object');
}

export function bodyNotUtf8(): RequestRefused {
  return new RequestRefused('MALFORMED_JSON', 'the body is not UTF-8');
}

export function bodyNotJson({ line, column }: Place): RequestRefused {
  return new RequestRefused('MALFORMED_JSON', `the body is not JSON: see line ${line}, column ${column}`);
}

export function bodyTooDeep(): RequestRefused {
  return new RequestRefused('MALFORMED_JSON', 'the body is nested too deeply');
}

export function truncatedBody(): RequestRefused {
  return new RequestRefused('MALFORMED_JSON', 'the body ended too early');
}

export function bodyNotAsEncoded(): RequestRefused {
  return new RequestRefused('MALFORMED_JSON', 'the body does not match its Content-Encoding');
}

export function invalidIdempotencyKey(): RequestRefused {
  return new RequestRefused(
    'INVALID_IDEMPOTENCY_KEY',
    `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters, bare or in double quotes`,
  );
}

/** The beginning of every challenge: RFC 6750, section 3. */
const REALM = 'Bearer realm="petstore"';

export function noCredentials(): RequestRefused {
  return new RequestRefused(
    'UNAUTHENTICATED',
    'an API key is required, as "Authorization: Bearer <API_KEY>"',
    { 'WWW-Authenticate': REALM },
  );
}

export function invalidKey(): RequestRefused {
  return new RequestRefused('UNAUTHENTICATED', 'the API key is not valid', {
    'WWW-Authenticate': `${REALM}, error="invalid_token"`,
  });
}

export function insufficientScope(scope: Scope): RequestRefused {
  return new RequestRefused('PERMISSION_DENIED', `the API key does not have the scope ${scope}`, {
    'WWW-Authenticate': scopeChallenge(scope),
  });
}

/** RFC 6750, section 3.1. */
export function scopeChallenge(scope: Scope): string {
  return `${REALM}, error="insufficient_scope", scope="${scope}"`;
}

/** @param meant the pattern of a route whose path differs only by the slash at the end */
export function routeNotFound(meant?: string): RequestRefused {
  const hint = meant === undefined ? '' : `; ${meant} has no slash at its end`;
  return new RequestRefused('ROUTE_NOT_FOUND', `there is nothing at this path${hint}`);
}

/** @param allow the value of the `Allow` header */
export function methodNotAllowed(allow: string): RequestRefused {
  return new RequestRefused('METHOD_NOT_ALLOWED', `this path allows ${allow}`, { Allow: allow });
}

export function requestTimeout(): RequestRefused {
  return new RequestRefused('REQUEST_TIMEOUT', 'the request did not end in time');
}

export function gone(): RequestRefused {
  return new RequestRefused('GONE', `this operation was removed on ${SUNSET_DATE}; use GET /v1/pets`);
}

export function bodyTooLarge(): RequestRefused {
  return new RequestRefused(
    'PAYLOAD_TOO_LARGE',
    `the body must be at most ${MAX_BODY_BYTES} bytes, also when inflated`,
  );
}

export function chunkExtensionsTooLarge(): RequestRefused {
  return new RequestRefused('PAYLOAD_TOO_LARGE', 'the chunk extensions are too large');
}

export function urlTooLong(): RequestRefused {
  return new RequestRefused('URI_TOO_LONG', `the URL must be at most ${MAX_URL_BYTES} bytes`);
}

export function unsupportedMediaType(): RequestRefused {
  return new RequestRefused(
    'UNSUPPORTED_MEDIA_TYPE',
    'Content-Type must be application/json, with no charset but utf-8',
  );
}

export function unsupportedContentCoding(): RequestRefused {
  return new RequestRefused(
    'UNSUPPORTED_MEDIA_TYPE',
    'Content-Encoding must be gzip, deflate, br or identity',
  );
}

export function rateLimited(
  { requests, seconds }: RateLimit,
  { resetSeconds }: Pick<Allowance, 'resetSeconds'>,
): RequestRefused {
  return new RequestRefused(
    'RATE_LIMITED',
    `the API key may send at most ${requests} requests in ${seconds} s; try again in ${resetSeconds} s`,
    { 'Retry-After': String(resetSeconds) },
  );
}

export function headersTooLarge(): RequestRefused {
  return new RequestRefused(
    'HEADERS_TOO_LARGE',
    `the request line and headers must be at most ${MAX_HEADERS_BYTES} bytes`,
  );
}

export function shuttingDown(): RequestRefused {
  return new RequestRefused('UNAVAILABLE', 'the service is shutting down', RETRY_AFTER);
}
