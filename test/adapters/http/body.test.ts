import { expect, test } from 'vitest';
import { CREATED, invalid, problem, REX, TOO_LARGE, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const LIMIT = 64 * 1024;
const NOT_UTF_8 = 'the body is not UTF-8';
const TOO_DEEP = 'the body is nested too deeply';
const notJson = (line: number, column: number) => `the body is not JSON: see line ${line}, column ${column}`;
const malformed = (message: string) => problem(400, 'MALFORMED_JSON', message);

const nested = (depth: number) => petBody({ toys: '['.repeat(depth) + ']'.repeat(depth) });

// test/adapters/json has every way to break JSON.
test.each([
  ['empty', '', 'the body is empty; it must be a JSON object'],
  ['white space', ' \n', notJson(2, 1)],
  ['a leading zero', petBody({ categoryId: '07' }), notJson(1, 29)],
  ['two byte order marks', `\ufeff\ufeff${petBody()}`, notJson(1, 1)],
  ['a surrogate in UTF-8', Buffer.from('{"name":"\xed\xa0\x80","categoryId":7}', 'latin1'), NOT_UTF_8],
  ['UTF-16', Buffer.from(`\ufeff${petBody()}`, 'utf16le'), NOT_UTF_8],
  ['lists as deep as a body allows', nested(32_000), TOO_DEEP],
  ['objects as deep as a body allows', `${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`, TOO_DEEP],
])('a body that is no JSON in UTF-8 is 400: %s', async (_, body, message) => {
  await using api = await startApi();
  expect(whole(await api.post(body))).toStrictEqual(malformed(message));
  // The decoder keeps no state.
  expect(whole(await api.post(petBody()))).toStrictEqual(CREATED);
});

test.each([
  ['a byte order mark (RFC 8259, section 8.1)', `\ufeff${petBody()}`],
  ['deep nesting', nested(500)],
])('a body with %s is accepted', async (_, body) => {
  await using api = await startApi();
  expect(whole(await api.post(body))).toStrictEqual(CREATED);
});

test.each(['null', '7', `[${petBody()}]`])('the body %s is no object: 400', async (body) => {
  await using api = await startApi();
  expect(whole(await api.post(body))).toStrictEqual(invalid('the body must be a JSON object'));
});

const filled = (size: number) => petBody({ note: `"${'x'.repeat(size - petBody({ note: '""' }).length)}"` });

test.each([
  ['with a Content-Length', (body: string) => body],
  ['chunked', (body: string) => [Buffer.from(body.slice(0, 1000)), Buffer.from(body.slice(1000))]],
  ['in chunks of a byte', (body: string) => [...Buffer.from(body)].map((byte) => Buffer.of(byte))],
])('a body may have at most 64 KiB: %s', async (_, encode) => {
  await using api = await startApi();
  expect(whole(await api.post(encode(filled(LIMIT))))).toStrictEqual(CREATED);
  expect(whole(await api.post(encode(filled(LIMIT + 1))))).toStrictEqual(TOO_LARGE);
  expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
});

test('a body with a Content-Length beyond 2^32 is too large', async () => {
  await using api = await startApi({ limits: { requestTimeoutMs: 10_000 } });
  const connection = await api.connect(`${post('Content-Length: 4294967297\r\n')}{`);
  expect(whole(await connection.answer())).toStrictEqual(TOO_LARGE);
});

test('a multibyte character may span two chunks', async () => {
  await using api = await startApi();
  const body = Buffer.from(petBody({ name: '"🐕"' }));
  const seam = body.indexOf(0x9f);
  const answer = await api.post([body.subarray(0, seam), body.subarray(seam)]);
  expect(JSON.parse(answer.body)).toMatchObject({ name: '🐕' });
});
