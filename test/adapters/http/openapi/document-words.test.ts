import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import openApi from '../../../../openapi.json' with { type: 'json' };
import type { Answer } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { rulesOfPage } from '../../../support/rules-of-page.ts';

const create =
  (headers: Record<string, string>, body: string | Uint8Array = petBody()) =>
  (api: Api) =>
    api.request('POST', '/v1/pets', { headers: { 'content-type': 'application/json', ...headers }, body });
const send =
  (path: string, method = 'GET') =>
  (api: Api) =>
    api.request(method, `/v1${path}`);
const typed = (charset: string) => create({ 'content-type': `application/json; charset=${charset}` });

/**
 * Where the service accepts or refuses more than the keywords of the document say. The words of the document or the page
 * of its rules state the rule.
 */
it.each<[rule: string, status: number, call: (api: Api) => Promise<Answer>]>([
  [
    'bare or in double quotes. Double quotes also allow spaces',
    201,
    create({ 'idempotency-key': '"a key"' }),
  ],
  ['with no charset except utf-8', 201, typed('UTF-8')],
  ['with no charset except utf-8', 415, typed('latin1')],
  [
    '`Content-Encoding` is gzip, deflate, br',
    201,
    create({ 'content-encoding': 'gzip' }, gzipSync(petBody())),
  ],
  ['`Accept` is ignored', 201, create({ accept: 'text/html' })],
  ['accepts other fields and does not store them', 201, create({}, petBody({ id: '"x"', statsu: '1' }))],
  ['well-formed, without lone surrogates', 400, create({}, petBody({ name: '"\\ud800"' }))],
  ['The body is empty', 400, create({}, '')],
  ['`HEAD` works wherever `GET` does', 200, send('/pets', 'HEAD')],
  ['`OPTIONS` answers `204`', 204, send('/pets', 'OPTIONS')],
  ['in canonical decimal digits (`20`; not `020`', 400, send('/pets?limit=05')],
  ['in canonical decimal digits (`20`; not `020`, `+20`', 400, send('/pets?limit=%2B5')],
  ['not `020`, `+20`, `2e1`', 400, send('/pets?limit=1e1')],
  ['in canonical decimal digits (`42`; not `042`, `+42`, `42.0`', 400, send('/pets/42.0')],
  ['canonical decimal digits', 400, send('/pets/-0')],
  ['An undocumented or repeated query parameter answers `400`', 400, send('/pets?page=2')],
  ['An undocumented or repeated query parameter answers `400`', 400, send('/pets?limit=5&limit=5')],
  ['This operation has no query parameters', 400, send('/pets/1?limit=5')],
  ['`/v1/pets/` is not `/v1/pets`', 404, send('/pets/')],
])('what the document says in words is so: %s, which is %i', async (rule, status, call) => {
  await using api = await startApi();
  const words = JSON.stringify(openApi) + (await rulesOfPage()).replaceAll(/<\/?code>/g, '`');
  expect(words).toContain(rule);
  expect((await call(api)).status).toBe(status);
});
