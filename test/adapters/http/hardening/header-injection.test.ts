import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../../support/answer.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { petBody, stored } from '../../../support/pets.ts';

const bad = (message: string) => problem(400, 'INVALID_ARGUMENT', message);
const NOT_HTTP = bad('the request is not valid HTTP/1.1');
const BAD_HOST = bad('the request must have one valid Host header');
const PUBLIC = 'https://petstore.example/api';
const MADE = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** Sends a request with the key, encoded as Latin-1. The connection is closed after the answer. */
function send(api: Api, line: string, headers = 'Host: x\r\n', body = '') {
  const head = `${line} HTTP/1.1\r\n${headers}Authorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`;
  return api.raw(Buffer.from(head + body, 'latin1'));
}

async function apiWithTwoPets(publicUrl?: string): Promise<Api> {
  const pets = new InMemoryPetRepository();
  await stored(pets, {}, {});
  return startApi(publicUrl === undefined ? { pets } : { pets, publicUrl });
}

// The client of these tests rejects an answer that repeats a header or has an invalid one.
describe('X-Request-Id', () => {
  test.each([
    ['escaped line ends', 'a%0d%0aX-Evil:%20b'],
    ['a quote', 'a";b'],
    ['fields of a log line', '","level":60,"msg":"'],
    ['a byte of Latin-1', '\xe9'],
    ['a line separator in UTF-8', '\xe2\x80\xa8'],
    ['Cyrillic letters that look Latin', '\xd0\xb0\xd0\xb1'],
    ['fifteen thousand letters', 'x'.repeat(15_000)],
  ])('%s: replaced', async (_, id) => {
    await using api = await startApi();
    const answers = await send(api, 'GET /livez', `Host: x\r\nX-Request-Id: ${id}\r\n`);
    expect(answers.map(whole)).toStrictEqual([success(200, '{"status":"ok"}')]);
    expect(answers[0]?.headers['x-request-id']).toMatch(MADE);
    expect(await api.log.record(0)).toMatchObject({ requestId: answers[0]?.headers['x-request-id'] });
  });

  test.each([
    ['CR', 'a\rX-Evil: b'],
    ['LF', 'a\nX-Evil: b'],
    ['CRLF and a space', 'a\r\n X-Evil: b'],
    ['ESC', 'a\x1b[31m'],
    ['NUL', 'a\0b'],
  ])('a raw %s: not HTTP', async (_, id) => {
    await using api = await startApi();
    const answers = await send(api, 'GET /livez', `Host: x\r\nX-Request-Id: ${id}\r\n`);
    expect(answers.map(whole)).toStrictEqual([NOT_HTTP]);
    expect(answers[0]?.headers['x-request-id']).toMatch(MADE);
  });
});

describe('Link holds the meaning of the query, never its text', () => {
  test.each([
    ['limit=1', 'limit=1'],
    ['limit=%31', 'limit=1'],
    ['limit=1&status=%61vailable', 'limit=1&status=available'],
    ['status=available&limit=1', 'limit=1&status=available'],
    ['l%69mit=1&&', 'limit=1'],
    ['limit=1&cursor=v1%2E0000000000000000', 'limit=1'],
  ])('?%s', async (query, meaning) => {
    await using api = await apiWithTwoPets(PUBLIC);
    const answers = await send(api, `GET /v1/pets?${query}`);
    expect(answers.map(({ status, headers }) => [status, headers['link']])).toStrictEqual([
      [200, `<${PUBLIC}/v1/pets?${meaning}&cursor=v1.0000000000000001>; rel="next"`],
    ]);
  });

  test.each([
    'limit=1%0d%0aX-Evil:%20b',
    'limit=1>',
    'limit=1#>;rel=next',
    'limit=1%3E;rel=%22next%22',
    'limit=1&status=available%0D%0A%0D%0A',
    'limit=1&status=available">',
    'limit=1&cursor=v1.0000000000000000%0d%0a',
    'limit=1&cursor=v1.0000000000000000>;',
    'limit=1&%0d%0aX-Evil:%20b=1',
    'limit=1&limit=1%0d%0a',
    'limit=1#>;rel=next',
  ])('?%s: 400, without a Link', async (query) => {
    await using api = await apiWithTwoPets(PUBLIC);
    const answers = await send(api, `GET /v1/pets?${query}`);
    expect(answers.map(({ status, headers }) => [status, headers['link']])).toStrictEqual([[400, undefined]]);
  });
});

describe('Host gets into Link only as a name or an address, with or without a port', () => {
  test.each([
    ['a quote', 'x"'],
    ['angle brackets', 'x><y'],
    ['a space', 'x y'],
    ['a tab', 'x\ty'],
    ['a semicolon', 'x;rel=next'],
    ['a user', 'a@b'],
    ['a user with a password', 'a:b@c'],
    ['a query', 'x?y'],
    ['a fragment', 'x#y'],
    ['a backslash', 'x\\y'],
    ['an escape', 'x%0d%0aX-Evil:%20b'],
    ['another escape', 'x%2f'],
    ['a byte of Latin-1', 'zo\xe9.example'],
    ['bytes of UTF-8', 'zo\xc3\xa9.example'],
    ['a full-width dot', 'x\xef\xbc\x8eexample'],
    ['a port of six digits', 'x:100000'],
    ['a negative port', 'x:-1'],
    ['two ports', 'x:1:2'],
    ['an address without brackets', '::1'],
    ['an address with a zone', '[fe80::1%25eth0]'],
    ['an open bracket', '[::1'],
    ['brackets around a name', '[x"]'],
  ])('%s: 400', async (_, host) => {
    await using api = await apiWithTwoPets();
    const answers = await send(api, 'GET /v1/pets?limit=1', `Host: ${host}\r\n`);
    expect(answers.map(whole)).toStrictEqual([BAD_HOST]);
  });

  test.each([
    ['a CR', 'x\ry'],
    ['a NUL', 'x\0'],
    ['a folded line', 'x\r\n y'],
  ])('%s: not HTTP', async (_, host) => {
    await using api = await apiWithTwoPets();
    expect((await send(api, 'GET /v1/pets?limit=1', `Host: ${host}\r\n`)).map(whole)).toStrictEqual([
      NOT_HTTP,
    ]);
  });

  test('a long Host is in the answer once', async () => {
    await using api = await apiWithTwoPets();
    const host = 'x'.repeat(15_000);
    const [answer] = await send(api, 'GET /v1/pets?limit=1', `Host: ${host}\r\n`);
    expect(answer?.headers['link']).toBe(
      `<${new URL(api.url).protocol}//${host}/v1/pets?limit=1&cursor=v1.0000000000000001>; rel="next"`,
    );
  });
});

describe('with a public URL, no link is made from the request', () => {
  test.each([
    ['Host', 'GET', 'Host: evil.example:666\r\n'],
    ['the absolute form', 'GET http://evil.example', 'Host: x\r\n'],
    ['the absolute form of https', 'GET https://evil.example:1', 'Host: x\r\n'],
    ['X-Forwarded-Host', 'GET', 'Host: x\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: gopher\r\n'],
    ['Forwarded', 'GET', 'Host: x\r\nForwarded: host="evil.example";proto=gopher\r\n'],
    [
      'X-Original-URL',
      'GET',
      'Host: x\r\nX-Original-URL: //evil.example/\r\nX-Rewrite-URL: //evil.example/\r\n',
    ],
    [
      'X-Forwarded-Prefix',
      'GET',
      'Host: x\r\nX-Forwarded-Prefix: //evil.example\r\nX-Host: evil.example\r\n',
    ],
    ['Origin', 'GET', 'Host: x\r\nOrigin: http://evil.example\r\nReferer: http://evil.example/\r\n'],
  ])('%s', async (_, method, headers) => {
    await using api = await apiWithTwoPets(PUBLIC);
    const prefix = method.includes(' ') ? method : `${method} `;
    const [list] = await send(api, `${prefix}/v1/pets?limit=1`, headers);
    expect(list).toMatchObject({
      status: 200,
      headers: { link: `<${PUBLIC}/v1/pets?limit=1&cursor=v1.0000000000000001>; rel="next"` },
    });
    const [get] = await send(api, `${prefix}/v1/pets/1`, headers);
    expect(get).toMatchObject({
      status: 200,
      headers: { link: `<${PUBLIC}/docs#getPet>; rel="deprecation"; type="text/html"` },
    });
    const body = petBody();
    const content = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const [created] = await send(api, `${prefix.replace('GET', 'POST')}/v1/pets`, headers + content, body);
    expect(created).toMatchObject({ status: 201, headers: { location: '/api/v1/pets/3' } });
    for (const answer of [list, get, created]) expect(JSON.stringify(answer)).not.toContain('evil');
  });
});

describe('no header holds the petId of a request', () => {
  test.each([
    ['line ends', '/v1/pets/1%0d%0aX-Evil:%20b'],
    ['characters that would end a link', '/v1/pets/1>;rel=next'],
    ['a quote', '/v1/pets/1%22'],
    ['a slash', '/v1/pets/1%2f..%2f2'],
    ['invalid UTF-8', '/v1/pets/%ff'],
    ['half an escape', '/v1/pets/%'],
    ['a thousand digits', `/v1/pets/${'9'.repeat(1000)}`],
  ])('%s', async (_, path) => {
    await using api = await apiWithTwoPets(PUBLIC);
    expect((await send(api, `GET ${path}`)).map(whole)).toStrictEqual([
      {
        ...bad('petId must be an int64 in canonical decimal digits'),
        headers: {
          deprecation: '@1795132800',
          sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
          link: `<${PUBLIC}/docs#getPet>; rel="deprecation"; type="text/html"`,
        },
      },
    ]);
  });
});

test('no answer holds the Idempotency-Key', async () => {
  await using api = await startApi();
  const created = await api.post(petBody(), { 'idempotency-key': 'my-secret-retry' });
  const replayed = await api.post(petBody(), { 'idempotency-key': 'my-secret-retry' });
  const reused = await api.post(petBody({ categoryId: '8' }), { 'idempotency-key': 'my-secret-retry' });
  const malformed = await api.post(petBody(), { 'idempotency-key': 'my-secret-retry "' });
  const answers = [created, replayed, reused, malformed];
  expect(answers.map(({ status }) => status)).toStrictEqual([201, 201, 422, 400]);
  expect(JSON.stringify(answers)).not.toContain('my-secret-retry');
});

describe('a message that names an unknown parameter', () => {
  const unknown = (name: string) => `${name} is not a parameter of this operation`;

  test.each([
    ['quotes', '%22%7D,%22status%22:200', '"},"status":200'],
    ['a backslash', '%5C', '\\'],
    ['line ends', 'a%0d%0ab', 'a\r\nb'],
    ['NUL', '%00', '\0'],
    ['ESC', '%1b[31m', '\x1b[31m'],
    ['a line separator', '%E2%80%A8', '\u2028'],
    ['markup', '%3Cscript%3E', '<script>'],
    ['a dog', '%F0%9F%90%95', '🐕'],
    ['invalid UTF-8 in a name', '%ff%C0%AF%ED%A0%80', '\ufffd'.repeat(6)],
    ['nothing', '=1', ''],
  ])('%s', async (_, name, shown) => {
    await using api = await startApi();
    expect((await send(api, `GET /v1/pets?${name}`)).map(whole)).toStrictEqual([bad(unknown(shown))]);
  });

  test('names ten of many', async () => {
    await using api = await startApi();
    const names = Array.from({ length: 12 }, (_, i) => `p${i}`);
    const ten = names.slice(0, 10).map(unknown).join('; ');
    expect(whole(await api.get(`/v1/pets?${names.slice(0, 10).join('&')}`))).toStrictEqual(bad(ten));
    expect(whole(await api.get(`/v1/pets?${names.join('&')}`))).toStrictEqual(bad(`${ten}; nor are 2 more`));
  });

  test.each([
    ['as many as a URL holds', [...Array(2100).keys()].map((i) => i.toString(36)).join('&')],
    ['one as long as a URL', 'x'.repeat(8000)],
    ['one as long as a URL, of control characters', '%01'.repeat(2700)],
    ['one again and again', 'a&'.repeat(4000)],
    ['limit again and again', 'limit&'.repeat(1300)],
  ])('is at most about twice as long as the request: %s', async (_, query) => {
    await using api = await startApi();
    const answer = await api.get(`/v1/pets?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.length).toBeLessThan(2 * query.length + 500);
  });
});
