import { HTTPS_ONLY, remainingRateLimit, rateLimitPolicy } from '../contract/answer-headers.ts';
import { type Deprecation, deprecationHeaders, deprecationLink } from '../contract/deprecation.ts';
import { RETRY_AFTER } from '../contract/errors.ts';
import { REQUEST_ID_PATTERN } from '../contract/request-id.ts';
import type { JsonObject } from './schemas.ts';

export function optional(description: string, rule: JsonObject, example: string): JsonObject {
  return { description, schema: { type: 'string', ...rule }, example };
}

export function required(description: string, rule: JsonObject, example: unknown): JsonObject {
  return { description, schema: { type: 'string', ...rule }, example, required: true };
}

export function exactly(description: string, value: string): JsonObject {
  return required(description, { enum: [value] }, value);
}

/** The rate limit in the examples of the document. */
export const EXAMPLE = { limit: { requests: 600, seconds: 60 }, left: { remaining: 0, resetSeconds: 30 } };

/** The document leaves out headers that every HTTP server sends. */
export const HEADERS = {
  'X-Request-Id': required(
    'Identifies the request in the log. The id that the client sent if it is valid, otherwise a new one.',
    { pattern: REQUEST_ID_PATTERN },
    'f0c1ab6e-5a3c-4a43-9d0f-6f1d4c0d7b1e',
  ),
  'Strict-Transport-Security': optional(
    'Present where the service or its public URL speaks TLS, except for names of the machine itself (RFC 6797).',
    { enum: [HTTPS_ONLY] },
    HTTPS_ONLY,
  ),
  'WWW-Authenticate': required(
    'The scheme to use. Has `error="invalid_token"` when the request carried an invalid key (RFC 6750).',
    { pattern: '^Bearer realm="petstore"(, error="invalid_token")?$' },
    'Bearer realm="petstore", error="invalid_token"',
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
    rateLimitPolicy(EXAMPLE.limit),
  ),
  RateLimit: optional(
    'What is left of the limit: `r` requests in the current window, which ends in `t` seconds. Absent when the ' +
      'API key has no limit, or when the service could not count the request.',
    { pattern: '^"key";r=(0|[1-9][0-9]*);t=[1-9][0-9]*$' },
    remainingRateLimit(EXAMPLE.left),
  ),
};

export type ResponseHeaders = Readonly<Record<string, JsonObject>>;

function reference(component: string): JsonObject {
  return { $ref: `#/components/headers/${component}` };
}

export function shared(...names: readonly (keyof typeof HEADERS)[]): ResponseHeaders {
  return Object.fromEntries(names.map((name) => [name, reference(name)]));
}

export const COMMON_HEADERS = shared('X-Request-Id', 'Strict-Transport-Security');

/** The headers of an answer to an API key with a rate limit. */
export const LIMITED = shared('RateLimit-Policy', 'RateLimit');

export const RETRY_HEADERS = { ...shared('Retry-After'), ...LIMITED };

type DeprecableOperation = { readonly name: string; readonly deprecation?: Deprecation };

/** The headers of a deprecated operation: their components in the document, and the references in a response. */
export function announcement({ name, deprecation }: DeprecableOperation) {
  if (deprecation === undefined) return { components: {}, headers: {} };
  const { Deprecation, Sunset } = deprecationHeaders(deprecation);
  const headers: ResponseHeaders = {
    Deprecation: exactly(
      'When the operation became deprecated, in seconds since 1970 (RFC 9745).',
      Deprecation,
    ),
    Sunset: exactly('When the operation will be removed (RFC 8594).', Sunset),
    Link: required(
      'An explanation of the deprecation.',
      { pattern: '^<https?://[^<> ]+>; rel="deprecation"; type="text/html"$' },
      deprecationLink('https://petstore.example', name),
    ),
  };
  const named = Object.entries(headers).map(
    ([header, value]) => [header, `${name}.${header}`, value] as const,
  );
  return {
    components: Object.fromEntries(named.map(([, component, value]) => [component, value])),
    headers: Object.fromEntries(named.map(([header, component]) => [header, reference(component)])),
  };
}
