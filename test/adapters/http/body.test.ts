import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { problem, success, whole } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import type { RawConnection } from '../../support/raw-connection.ts';

const LIMIT = 64 * 1024;
const REX = success(201, '{"id":1,"name":"Rex","categoryId":7,"status":"available"}', {
  location: '/v1/pets/1',
});
const TOO_LARGE = problem(
  413,
  'PAYLOAD_TOO_LARGE',
  'the body must be at most 65536 bytes, also when inflated',
);
const notJson = (line: number, column: number) => `the body is not JSON: see line ${line}, column ${column}`;
const malformed = (message: string) => problem(400, 'MALFORMED_JSON', message);

describe('JSON in UTF-8', () => {
  test.each([
    ['empty', '', 'the body is empty; it must be a JSON object'],
    ['white space', ' \n', notJson(2, 1)],
    ['one brace', '{', notJson(1, 2)],
    ['a word', 'Rex', notJson(1, 1)],
    ['single quotes', "{'name':'Rex'}", notJson(1, 2)],
    ['a trailing comma', '{"name":"Rex","categoryId":7,}', notJson(1, 30)],
    ['a comment', `${petBody()} // Rex`, notJson(1, 31)],
    ['two values', petBody() + petBody(), notJson(1, 30)],
    ['a control character in a string', petBody({ name: '"a\u0001"' }), notJson(1, 11)],
    ['NaN', petBody({ categoryId: 'NaN' }), notJson(1, 28)],
    ['a leading zero', petBody({ categoryId: '07' }), notJson(1, 29)],
    ['a plus sign', petBody({ categoryId: '+7' }), notJson(1, 28)],
    ['hexadecimal', petBody({ categoryId: '0x7' }), notJson(1, 29)],
    ['a point and no more', petBody({ categoryId: '7.' }), notJson(1, 30)],
    ['a bigint of JavaScript', petBody({ categoryId: '7n' }), notJson(1, 29)],
    ['a form', 'name=Rex&categoryId=7', notJson(1, 1)],
    ['a lone continuation byte', bytes('{"name":"', 0x80), 'the body is not UTF-8'],
    ['an overlong slash', bytes('{"name":"', 0xc0, 0xaf), 'the body is not UTF-8'],
    ['a surrogate in UTF-8', bytes('{"name":"', 0xed, 0xa0, 0x80), 'the body is not UTF-8'],
    ['beyond U+10FFFF', bytes('{"name":"', 0xf4, 0x90, 0x80, 0x80), 'the body is not UTF-8'],
    ['a cut-off character', bytes('{"name":"', 0xf0, 0x9f, 0x90), 'the body is not UTF-8'],
    ['Latin-1', Buffer.from(petBody({ name: '"Zoé"' }), 'latin1'), 'the body is not UTF-8'],
    ['UTF-16', Buffer.from(`\ufeff${petBody()}`, 'utf16le'), 'the body is not UTF-8'],
    ['NUL bytes', Buffer.alloc(100), notJson(1, 1)],
  ])('%s: 400', async (_, body, message) => {
    await using api = await startApi();
    expect(whole(await api.post(body))).toStrictEqual(malformed(message));
    // The decoder keeps no state.
    expect(whole(await api.post(petBody()))).toStrictEqual(REX);
  });

  test('a byte order mark is ignored: RFC 8259, section 8.1', async () => {
    await using api = await startApi();
    expect(whole(await api.post(`\ufeff${petBody()}`))).toStrictEqual(REX);
    expect(whole(await api.post(`\ufeff\ufeff${petBody()}`))).toStrictEqual(malformed(notJson(1, 1)));
  });

  test.each(['null', 'true', '7', '"Rex"', '1e400', '[]', '["name"]', `[${petBody()}]`])(
    '%s is not an object: 400',
    async (body) => {
      await using api = await startApi();
      expect(whole(await api.post(body))).toStrictEqual(
        problem(400, 'INVALID_ARGUMENT', 'the body must be a JSON object'),
      );
    },
  );
});

describe('nesting', () => {
  const nested = (depth: number) => petBody({ toys: '['.repeat(depth) + ']'.repeat(depth) });

  test('that is deep is accepted', async () => {
    await using api = await startApi();
    expect(whole(await api.post(nested(500)))).toStrictEqual(REX);
  });

  test('as deep as a body allows is refused', async () => {
    await using api = await startApi();
    expect(whole(await api.post(nested(32_000)))).toStrictEqual(malformed('the body is nested too deeply'));
    expect(whole(await api.post(`${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`))).toStrictEqual(
      malformed('the body is nested too deeply'),
    );
    expect(whole(await api.post('['.repeat(LIMIT)))).toStrictEqual(malformed(notJson(1, LIMIT + 1)));
    expect((await api.post(petBody())).status).toBe(201);
  });
});

describe('size', () => {
  const filled = (size: number) =>
    petBody({ note: `"${'x'.repeat(size - petBody({ note: '""' }).length)}"` });

  test.each([
    ['with a Content-Length', (body: string) => body],
    ['chunked', (body: string) => [Buffer.from(body.slice(0, 1000)), Buffer.from(body.slice(1000))]],
    ['in chunks of a byte', (body: string) => [...Buffer.from(body)].map((byte) => Buffer.of(byte))],
  ])('%s: 64 KiB and no byte more', async (_, encode) => {
    await using api = await startApi();
    expect(whole(await api.post(encode(filled(LIMIT))))).toStrictEqual(REX);
    expect(whole(await api.post(encode(filled(LIMIT + 1))))).toStrictEqual(TOO_LARGE);
    expect((await api.get('/v1/pets')).body).toBe(`[${REX.body}]`);
  });

  test('a multibyte character that spans two chunks', async () => {
    await using api = await startApi();
    const body = Buffer.from(petBody({ name: '"🐕"' }));
    const seam = body.indexOf(0x9f);
    const answer = await api.post([body.subarray(0, seam), body.subarray(seam)]);
    expect(JSON.parse(answer.body)).toMatchObject({ name: '🐕' });
  });

  test('a Content-Length beyond 2^32', async () => {
    await using api = await startApi();
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.key}\r\n`;
    const connection = await api.connect();
    await connection.send(`${head}Content-Type: application/json\r\nContent-Length: 4294967297\r\n\r\n{`);
    expect(whole(await connection.answer())).toStrictEqual(TOO_LARGE);
  });
});

describe('a connection that ends in the middle of the body is not a failure of the service', () => {
  describe.each(['identity', 'gzip'])('%s', (coding) => {
    test.each<readonly [string, (api: Api, connection: RawConnection) => unknown]>([
      ['the client resets it', (_api, connection) => connection.abort()],
      ['a drain cuts it off', (api) => api.drain(0)],
    ])('%s', async (_, end) => {
      await using api = await startApi();
      const connection = await api.connect();
      await connection.send(
        `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.key}\r\n` +
          `Content-Type: application/json\r\nContent-Encoding: ${coding}\r\nContent-Length: 50\r\n` +
          'Expect: 100-continue\r\n\r\n{',
      );
      // The service asks for the body: it has begun to read it.
      expect(await connection.answer()).toMatchObject({ status: 100 });
      await end(api, connection);
      expect(await api.log.record(0)).toMatchObject({ route: '/v1/pets', aborted: true });
      // The reader of the body fails in the same turn of the event loop.
      await setImmediate();
      expect(api.log.failures).toStrictEqual([]);
    });
  });
});

test('the message reveals nothing of the body', async () => {
  await using api = await startApi();
  const { body } = await api.post('{"name": hunter2}');
  expect(body).not.toContain('hunter2');
});

function bytes(text: string, ...rest: number[]): Buffer {
  return Buffer.concat([Buffer.from(text), Buffer.from(rest), Buffer.from('","categoryId":7}')]);
}
