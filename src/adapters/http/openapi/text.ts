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

/** What holds for every operation, as Markdown. */
export const API_DESCRIPTION = `A catalogue of animals: list them, add one, get one.

## Authentication
Everything under \`/v1\` needs an API key, as \`Authorization: Bearer <API_KEY>\`. It is checked before path and method: without a valid key all of \`/v1\` answers \`401\`. Unknown, expired and revoked keys get the same answer.

A key has scopes; without the one that an operation needs it answers \`403\`, and \`WWW-Authenticate\` names it:

| Scope | For |
|---|---|
${scopes.join('\n')}

## Requests
- Paths are case-sensitive and have one form: \`/v1/pets/\` is not \`/v1/pets\`. What is not there answers \`404\`.
- \`HEAD\` works wherever \`GET\` does; \`OPTIONS\` answers \`204\` with \`Allow\`; every other method answers \`405\` with \`Allow\`.
- A query parameter that is not documented, or is given more than once, is refused with \`400\`: a typo never silently returns everything.
- A body is JSON in UTF-8. \`Accept\` is not looked at: every answer is JSON.
- Integers of format int64 are exact from ${INT64_MIN} to ${INT64_MAX}.
- All problems of a request are reported at once. A refused request changes nothing.

A request is judged in this order: limits, API key, rate limit, path and method, scope, media type, values.

## Limits
| What | At most | Else |
|---|---|---|
| URL | ${MAX_URL_BYTES / KIB} KiB | 414 |
| Request line and headers | ${MAX_HEADERS_BYTES / KIB} KiB | 431 |
| Body, as sent and when inflated | ${MAX_BODY_BYTES / KIB} KiB | 413 |
| Until the last header has come | ${SERVER_LIMITS.headersTimeoutMs / SECOND} s | 408 |
| Until the whole request has come | ${SERVER_LIMITS.requestTimeoutMs / SECOND} s | 408 |

## Rate limits
A key may have a limit: so many requests in a window of so many seconds, which begins with the first of them. Every request whose key is found valid counts, whatever becomes of it then. Then every answer says in \`RateLimit-Policy\` what the limit is and in \`RateLimit\` what is left of it (draft-ietf-httpapi-ratelimit-headers-11). A request beyond it answers \`429\`; \`Retry-After\` says after how many seconds the next window begins. When the service cannot count, it lets requests through, without \`RateLimit\`.

## Browsers
The operator of the service chooses from which origins web pages may use it (CORS); at first there are none. Answers to those have \`Access-Control-Allow-Origin\` and let pages read their headers; a preflight needs no API key. Cookies are never used: send the key in \`Authorization\`.

## Answers
Every answer with a body is \`application/json; charset=utf-8\` with \`Content-Length\`, and every answer has \`X-Request-Id\`, \`X-Content-Type-Options: nosniff\` and \`Cache-Control: no-store\`. Quote the request id when you report a problem.

## Errors
Every error is exactly \`{code, message, status}\`. The codes are stable. The set is open: fall back on \`status\` for a code that you do not know. \`message\` names each offending field or parameter with what is allowed; its wording may change.

| Status | Code | Meaning |
|---|---|---|
${codes.join('\n')}

## Compatibility
Within \`/v1\` changes only add: optional parameters, response fields, headers, error codes. Ignore what you do not know. Anything breaking goes to \`/v2\`, with at least 24 months' notice. A deprecated operation says so on its answers, with the day of its removal.
`;
