import { expect, test } from 'vitest';
import { CREATED, invalid, problem, REX, TOO_LARGE, brief } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const MAX_BODY_BYTES = 64 * 1024;

// The messages of error answers.
const NOT_UTF_8 = 'the body is not UTF-8';
const TOO_DEEP = 'the body is nested too deeply';
const notJson = (line: number, column: number) => `the body is not JSON: see line ${line}, column ${column}`;
const malformedJson = (message: string) => problem(400, 'MALFORMED_JSON', message);

const bodyWithNestedArrays = (depth: number) => petBody({ toys: '['.repeat(depth) + ']'.repeat(depth) });

// More forms of invalid JSON are tested in test/adapters/json.
test.each([
  ['is empty', '', 'the body is empty; it must be a JSON object'],
  ['is white space', ' \n', notJson(2, 1)],
  ['has a number with a leading zero', petBody({ categoryId: '07' }), notJson(1, 29)],
  ['begins with two byte order marks', `\ufeff\ufeff${petBody()}`, notJson(1, 1)],
  ['has a surrogate in UTF-8', Buffer.from('{"name":"\xed\xa0\x80","categoryId":7}', 'latin1'), NOT_UTF_8],
  ['is in UTF-16', Buffer.from(`\ufeff${petBody()}`, 'utf16le'), NOT_UTF_8],
  ['has 32,000 nested arrays', bodyWithNestedArrays(32_000), TOO_DEEP],
  ['has 9,000 nested objects', `${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`, TOO_DEEP],
])('a body is answered with 400 if it %s', async (_, body, message) => {
  await using api = await startApi();
  expect(brief(await api.post(body))).toStrictEqual(malformedJson(message));
  // All requests share one decoder of UTF-8. The refused body must leave no bytes in the decoder.
  expect(brief(await api.post(petBody()))).toStrictEqual(CREATED);
});

test.each([
  ['a byte order mark (RFC 8259, section 8.1)', `\ufeff${petBody()}`],
  ['500 nested arrays', bodyWithNestedArrays(500)],
])('a body with %s is accepted', async (_, body) => {
  await using api = await startApi();
  expect(brief(await api.post(body))).toStrictEqual(CREATED);
});

test.each(['null', '7', `[${petBody()}]`])('the body %s is no JSON object, and is refused', async (body) => {
  await using api = await startApi();
  expect(brief(await api.post(body))).toStrictEqual(invalid('the body must be a JSON object'));
});

/** A valid body of this size in bytes. */
const bodyOf = (size: number) => petBody({ note: `"${'x'.repeat(size - petBody({ note: '""' }).length)}"` });

test.each([
  ['with a Content-Length', (body: string) => body],
  ['in two chunks', (body: string) => [Buffer.from(body.slice(0, 1000)), Buffer.from(body.slice(1000))]],
  ['in chunks of one byte', (body: string) => [...Buffer.from(body)].map((byte) => Buffer.of(byte))],
])('the service accepts 64 KiB and refuses one byte more in a body that is sent %s', async (_, encode) => {
  await using api = await startApi();
  expect(brief(await api.post(encode(bodyOf(MAX_BODY_BYTES))))).toStrictEqual(CREATED);
  expect(brief(await api.post(encode(bodyOf(MAX_BODY_BYTES + 1))))).toStrictEqual(TOO_LARGE);
  expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
});

// The body parser takes a length modulo 2^32. It would accept this request as a body of one byte.
test('a body whose Content-Length is above 2^32 is answered with 413', async () => {
  await using api = await startApi({ limits: { requestTimeoutMs: 10_000 } });
  const connection = await api.connect(`${post('Content-Length: 4294967297\r\n')}{`);
  expect(brief(await connection.answer())).toStrictEqual(TOO_LARGE);
});

test('a character is read correctly if its bytes arrive in two chunks', async () => {
  await using api = await startApi();
  const body = Buffer.from(petBody({ name: '"🐕"' }));
  const splitOffset = body.indexOf(0x9f);
  const answer = await api.post([body.subarray(0, splitOffset), body.subarray(splitOffset)]);
  expect(JSON.parse(answer.body)).toMatchObject({ name: '🐕' });
});
