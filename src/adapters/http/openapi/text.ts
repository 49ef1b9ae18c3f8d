import { type Scope, SCOPES } from '../../../domain/api-key.ts';
import { INT64_MAX, INT64_MIN } from '../../../domain/int64.ts';
import { ERROR_STATUS, type ErrorCode } from '../wire/errors.ts';
import { CODE_MEANING } from './answers.ts';
import { MAX_BODY_BYTES, MAX_HEADERS_BYTES, MAX_URL_BYTES, SERVER_LIMITS } from '../wire/limits.ts';

const KIB = 1024;
const SECOND = 1000;

const codes = Object.entries(ERROR_STATUS).map(
  ([code, status]) => `| ${status} | \`${code}\` | ${CODE_MEANING[code as ErrorCode]} |`,
);

const SCOPE_MEANING: Record<Scope, string> = {
  'pets:read': 'Listing animals and getting one',
  'pets:write': 'Adding animals',
};
const scopes = SCOPES.map((scope) => `| \`${scope}\` | ${SCOPE_MEANING[scope]} |`);

/** What applies to every operation, as Markdown. */
export const API_DESCRIPTION = `A catalogue of animals: list them, add one, get one.

## Authentication
Every request under \`/v1\` needs an API key, as \`Authorization: Bearer <API_KEY>\`. The service checks the key
before path and method: without a valid key, every path under \`/v1\` answers \`401\`. Unknown, expired and revoked
keys get the same answer.

A key has scopes. Without the scope that an operation needs, the answer is \`403\`, and \`WWW-Authenticate\` names
the scope:

| Scope | For |
|---|---|
${scopes.join('\n')}

## Requests
- Paths are case-sensitive and have one form: \`/v1/pets/\` is not \`/v1/pets\`. Unknown paths answer \`404\`.
- \`HEAD\` works wherever \`GET\` does. \`OPTIONS\` answers \`204\` with \`Allow\`. Every other method answers
  \`405\` with \`Allow\`.
- An undocumented or repeated query parameter answers \`400\`: a typo never silently returns everything.
- A body is JSON in UTF-8. \`Accept\` is ignored: every answer is JSON.
- Integers of format int64 are exact from ${INT64_MIN} to ${INT64_MAX}.
- An error reports all problems of a request at once. A refused request changes nothing.

The service checks a request in this order: limits, API key, rate limit, path and method, scope, media type, query
parameters, body.

## Limits
| What | Maximum | Otherwise |
|---|---|---|
| URL | ${MAX_URL_BYTES / KIB} KiB | 414 |
| Request line and headers | ${MAX_HEADERS_BYTES / KIB} KiB | 431 |
| Body, as sent and after decompression | ${MAX_BODY_BYTES / KIB} KiB | 413 |
| Time until the last header has arrived | ${SERVER_LIMITS.headersTimeoutMs / SECOND} s | 408 |
| Time until the whole request has arrived | ${SERVER_LIMITS.requestTimeoutMs / SECOND} s | 408 |

## Rate limits
A key may have a limit: a number of requests in a window of some seconds. The window begins with its first request.
Every request with a valid key counts, whatever its outcome. The answers then carry \`RateLimit-Policy\`, which
states the limit, and \`RateLimit\`, which states what is left of it (draft-ietf-httpapi-ratelimit-headers-11). A
request beyond the limit answers \`429\`. Its \`Retry-After\` says in how many seconds the next window begins. When
the service cannot count, it lets requests through, without \`RateLimit\`.

## Browsers
The operator of the service configures the origins whose web pages may use it (CORS). By default there are none.
Answers to those origins carry \`Access-Control-Allow-Origin\` and let pages read their headers. A preflight needs
no API key. The service never uses cookies: send the key in \`Authorization\`.

## Answers
Every answer with a body is \`application/json; charset=utf-8\` with \`Content-Length\`. Every answer has
\`X-Request-Id\`, \`X-Content-Type-Options: nosniff\` and \`Cache-Control: no-store\`. Quote the request id when you
report a problem.

## Errors
Every error is exactly \`{code, message, status}\`. The codes are stable. The set is open: fall back on \`status\`
for an unknown code. \`message\` names each invalid field or parameter and what is allowed. Its wording may change.

| Status | Code | Meaning |
|---|---|---|
${codes.join('\n')}

## Compatibility
Changes within \`/v1\` only add optional parameters, response fields, headers and error codes. Ignore what you do
not know. A breaking change becomes \`/v2\`, with at least 24 months' notice. A deprecated operation announces the
day of its removal in its answers.
`;
