import { type Scope, SCOPES } from '../../../domain/api-key.ts';
import { INT64_MAX, INT64_MIN } from '../../../domain/pet.ts';
import { ERROR_STATUS, type ErrorCode } from '../wire/errors.ts';
import * as limits from '../wire/limits.ts';
import { CODE_MEANING } from './answers.ts';

const KIB = 1024;
const SECOND = 1000;

const SCOPE_MEANING: Record<Scope, string> = {
  'pets:read': 'Listing animals and getting one',
  'pets:write': 'Adding animals',
};

/** A paragraph, a list of points, or a table whose first row is its head. */
type Block = string | { readonly points: readonly string[] } | { readonly rows: Rows };
type Rows = readonly [head: readonly string[], ...body: (readonly string[])[]];

/** Each section by its title. */
const SECTIONS: Readonly<Record<string, readonly Block[]>> = {
  Authentication: [
    'Every request under `/v1` needs an API key, as `Authorization: Bearer <API_KEY>`. The service checks the key ' +
      'before path and method: without a valid key, every path under `/v1` answers `401`. Unknown, expired and ' +
      'revoked keys get the same answer.',
    'A key has scopes. Without the scope that an operation needs, the answer is `403`, and `WWW-Authenticate` ' +
      'names the scope:',
    { rows: [['Scope', 'For'], ...SCOPES.map((scope) => [`\`${scope}\``, SCOPE_MEANING[scope]])] },
  ],
  Requests: [
    {
      points: [
        'Paths are case-sensitive and have one form: `/v1/pets/` is not `/v1/pets`. Unknown paths answer `404`.',
        '`HEAD` works wherever `GET` does. `OPTIONS` answers `204` with `Allow`. Every other method answers `405` ' +
          'with `Allow`.',
        'An undocumented or repeated query parameter answers `400`: a typo never silently returns everything.',
        'A body is JSON in UTF-8. Fields that the service does not know are accepted and not stored: a misspelt ' +
          '`status` is not an error. `Accept` is ignored: the answer is JSON.',
        `Integers of format int64 are exact from ${INT64_MIN} to ${INT64_MAX}.`,
        'An error reports all problems of a request at once. A refused request changes nothing.',
      ],
    },
    'The service checks a request in this order: limits, API key, rate limit, path and method, scope, media type, ' +
      'query parameters, body.',
  ],
  Limits: [
    {
      rows: [
        ['What', 'Maximum', 'Otherwise'],
        ['URL', `${limits.MAX_URL_BYTES / KIB} KiB`, '`414`'],
        ['Request line and headers', `${limits.MAX_HEADERS_BYTES / KIB} KiB`, '`431`'],
        ['Body, as sent and after decompression', `${limits.MAX_BODY_BYTES / KIB} KiB`, '`413`'],
        ['Time until the last header has arrived', `${limits.HEADERS_TIMEOUT_MS / SECOND} s`, '`408`'],
        ['Time until the whole request has arrived', `${limits.REQUEST_TIMEOUT_MS / SECOND} s`, '`408`'],
      ],
    },
  ],
  'Rate limits': [
    'A key may have a limit: a number of requests in a window of some seconds. The window begins with its first ' +
      'request. Every request with a valid key counts, whatever its outcome. The answers then carry ' +
      '`RateLimit-Policy`, which states the limit, and `RateLimit`, which states what is left of it ' +
      '(draft-ietf-httpapi-ratelimit-headers-11). A request beyond the limit answers `429`. Its `Retry-After` says ' +
      'in how many seconds the next window begins. When the service cannot count, it lets requests through, ' +
      'without `RateLimit`.',
  ],
  Browsers: [
    'The operator of the service configures the origins whose web pages may use it (CORS). By default there are ' +
      'none. Answers to those origins carry `Access-Control-Allow-Origin` and let pages read their headers. A ' +
      'preflight needs no API key. The service never uses cookies: send the key in `Authorization`.',
  ],
  Answers: [
    'Every answer under `/v1` with a body is `application/json; charset=utf-8` with `Content-Length`. Each has ' +
      '`X-Request-Id`, `X-Content-Type-Options: nosniff` and `Cache-Control: no-store`. Quote the request id when ' +
      'you report a problem. You may send your own `X-Request-Id`: ' +
      `1 to ${limits.MAX_REQUEST_ID_LENGTH} of the characters \`A-Z a-z 0-9 _ . -\`. The service replaces any other.`,
  ],
  Errors: [
    'Every error is exactly `{code, message, status}`. The codes are stable. The set is open: fall back on ' +
      '`status` for an unknown code. `message` names each invalid field or parameter and what is allowed. Its ' +
      'wording may change.',
    {
      rows: [
        ['Status', 'Code', 'Meaning'],
        ...Object.entries(ERROR_STATUS).map(([code, status]) => [
          String(status),
          `\`${code}\``,
          CODE_MEANING[code as ErrorCode],
        ]),
      ],
    },
  ],
  Compatibility: [
    'Changes within `/v1` only add optional parameters, response fields, headers and error codes. Ignore what you ' +
      "do not know. A breaking change becomes `/v2`, with at least 24 months' notice. A deprecated operation " +
      'announces the day of its removal in its answers.',
  ],
};

/** What applies to every operation, as HTML: sections, each with an id. */
export function apiRules(): string {
  return Object.entries(SECTIONS)
    .map(([title, content]) => {
      const blocks = content.map((block) => {
        if (typeof block === 'string') return `<p>${inline(block)}</p>`;
        if ('points' in block)
          return `<ul>${block.points.map((point) => `<li>${inline(point)}</li>`).join('\n')}</ul>`;
        return table(block.rows);
      });
      const id = title.toLowerCase().replaceAll(' ', '-');
      return `<section id="${id}">\n<h3>${title}</h3>\n${blocks.join('\n')}\n</section>`;
    })
    .join('\n');
}

function table([head, ...rows]: Rows): string {
  const body = rows.map((cells) => tableRow(cells, 'td')).join('\n');
  return `<table>\n<thead>${tableRow(head, 'th')}</thead>\n<tbody>\n${body}\n</tbody>\n</table>`;
}

function tableRow(cells: readonly string[], tag: 'td' | 'th'): string {
  return `<tr>${cells.map((cell) => `<${tag}>${inline(cell)}</${tag}>`).join('')}</tr>`;
}

/** Text as HTML. Backticks mark code. */
function inline(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return escaped.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
