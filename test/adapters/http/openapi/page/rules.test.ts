import { expect, it } from 'vitest';
import openApi from '../../../../../openapi.json' with { type: 'json' };
import { rulesOfPage } from '../../../../support/rules-of-page.ts';

const rules = await rulesOfPage();

it('the rules on the page at /docs have the sections to which answers and the OpenAPI document link', () => {
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

it('the rules on the page at /docs escape < and contain no backquotes', () => {
  expect(rules).toContain('<code>Authorization: Bearer &lt;API_KEY></code>');
  expect(rules).not.toMatch(/`|<API/);
});

// OpenAPI has no keyword for these rules, so a sentence states each rule. The tests over HTTP prove that the service
// follows them.
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
])('the OpenAPI document, or the rules on the page at /docs, contain the text: %s', (rule) => {
  const words = JSON.stringify(openApi) + rules.replaceAll(/<\/?code>/g, '`');
  expect(words).toContain(rule);
});
