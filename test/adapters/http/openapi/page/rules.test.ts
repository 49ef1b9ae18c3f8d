import { expect, it } from 'vitest';
import openApi from '../../../../../openapi.json' with { type: 'json' };
import { SERVER_LIMITS } from '../../../../../src/adapters/http/server/limits.ts';
import { ERROR_STATUS } from '../../../../../src/adapters/http/contract/errors.ts';
import * as limits from '../../../../../src/adapters/http/contract/limits.ts';
import { SCOPES } from '../../../../../src/domain/api-key.ts';
import { INT64_MAX, INT64_MIN } from '../../../../../src/domain/pet.ts';
import { rulesOfPage } from '../../../../support/rules-of-page.ts';

const rules = await rulesOfPage();

it('have the sections that the answers and the OpenAPI document link to', () => {
  const sections = Array.from(rules.matchAll(/<section id="([\w-]+)"><h3>.+?<\/h3><(?:p|ul|table)>/g));
  expect(sections.map(([, id]) => id)).toEqual([
    'authentication',
    'requests',
    'limits',
    'rate-limits',
    'browsers',
    'answers',
    'errors',
    'compatibility',
  ]);
});

it.each([
  ['URL', `${limits.MAX_URL_BYTES / 1024} KiB`, 414],
  ['Request line and headers', `${limits.MAX_HEADERS_BYTES / 1024} KiB`, 431],
  ['Body', `${limits.MAX_BODY_BYTES / 1024} KiB`, 413],
  ['Time until the last header has arrived', `${SERVER_LIMITS.headersTimeoutMs / 1000} s`, 408],
  ['Time until the whole request has arrived', `${SERVER_LIMITS.requestTimeoutMs / 1000} s`, 408],
])('name the limit: %s, %s, %i', (what, maximum, status) => {
  expect(rules).toContain(`<tr><td>${what}</td><td>${maximum}</td><td><code>${status}</code></td></tr>`);
});

it('are those of integers and of request ids', () => {
  expect(rules).toContain(`exact from ${INT64_MIN} to ${INT64_MAX}.`);
  expect(rules).toContain(
    `1 to ${limits.MAX_REQUEST_ID_LENGTH} of the characters <code>A-Z a-z 0-9 _ . -</code>.`,
  );
});

it('name every scope and every code', () => {
  for (const scope of SCOPES) {
    expect(rules).toMatch(new RegExp(`<tr><td><code>${scope}</code></td><td>[^<]+</td></tr>`));
  }
  for (const [code, status] of Object.entries(ERROR_STATUS)) {
    expect(rules).toMatch(new RegExp(`<tr><td>${status}</td><td><code>${code}</code></td><td>.+</td></tr>`));
  }
});

it('escape what is not HTML', () => {
  expect(rules).toContain('<code>Authorization: Bearer &lt;API_KEY></code>');
  expect(rules).not.toMatch(/`|<API/);
});

// Rules beyond the keywords of the document. The tests over HTTP hold the service to them.
it.each([
  'bare or in double quotes. Double quotes also allow spaces',
  'with no charset except utf-8',
  '`Content-Encoding` is identity or absent',
  '`Accept` is ignored',
  'accepts other fields and does not store them',
  'well-formed, without lone surrogates',
  'The body is empty',
  '`HEAD` works wherever `GET` does',
  '`OPTIONS` answers `204`',
  'in canonical decimal digits (`20`; not `020`, `+20`, `2e1`',
  'in canonical decimal digits (`42`; not `042`, `+42`, `42.0`',
  'An undocumented or repeated query parameter answers `400`',
  'This operation has no query parameters',
  '`/v1/pets/` is not `/v1/pets`',
])('the document or the page of its rules says: %s', (rule) => {
  const words = JSON.stringify(openApi) + rules.replaceAll(/<\/?code>/g, '`');
  expect(words).toContain(rule);
});
