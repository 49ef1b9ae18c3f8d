import { expect, it } from 'vitest';
import openApi from '../../../../openapi.json' with { type: 'json' };
import { rulesOfPage } from '../../../support/rules-of-page.ts';

// Rules beyond the keywords of the document. The tests of ../*.test.ts hold the service to them.
it.each([
  'bare or in double quotes. Double quotes also allow spaces',
  'with no charset except utf-8',
  '`Content-Encoding` is gzip, deflate, br',
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
])('the document or the page of its rules says: %s', async (rule) => {
  const words = JSON.stringify(openApi) + (await rulesOfPage()).replaceAll(/<\/?code>/g, '`');
  expect(words).toContain(rule);
});
