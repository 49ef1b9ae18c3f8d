import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../../support/answer.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { petBody, stored } from '../../../support/pets.ts';

const bad = (message: string) => problem(400, 'INVALID_ARGUMENT', message);
const NOT_HTTP = bad('the request is not valid HTTP/1.1');
const PUBLIC = 'https://petstore.example/api';
const MADE = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** Sends a request with the key, encoded as Latin-1. The connection is closed after the answer. */
function send(api: Api, line: string, headers = 'Host: x\r\n', body = '') {
  const head = `${line} HTTP/1.1\r\n${headers}Authorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`;
  return api.raw(Buffer.from(head + body, 'latin1'));
}

async function apiWithTwoPets(): Promise<Api> {
  const pets = new InMemoryPetRepository();
  await stored(pets, {}, {});
  return startApi({ pets, publicUrl: PUBLIC });
}

// The client of these tests rejects an answer that repeats a header or has an invalid one.
describe('X-Request-Id', () => {
  test.each([
    ['a quote', 'a";b'],
    ['a byte of Latin-1', '\xe9'],
    ['a line separator in UTF-8', '\xe2\x80\xa8'],
  ])('%s: replaced', async (_, id) => {
    await using api = await startApi();
    const answers = await send(api, 'GET /livez', `Host: x\r\nX-Request-Id: ${id}\r\n`);
    expect(answers.map(whole)).toStrictEqual([success(200, '{"status":"ok"}')]);
    expect(answers[0]?.headers['x-request-id']).toMatch(MADE);
    expect(await api.log.record(0)).toMatchObject({ requestId: answers[0]?.headers['x-request-id'] });
  });

  test.each([
    ['LF', 'a\nX-Evil: b'],
    ['CRLF and a space', 'a\r\n X-Evil: b'],
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
    ['limit=%31', 'limit=1'],
    ['limit=1&status=%61vailable', 'limit=1&status=available'],
    ['l%69mit=1&&', 'limit=1'],
    ['limit=1&cursor=v1%2E0000000000000000', 'limit=1'],
  ])('?%s', async (query, meaning) => {
    await using api = await apiWithTwoPets();
    const answers = await send(api, `GET /v1/pets?${query}`);
    expect(answers.map(({ status, headers }) => [status, headers['link']])).toStrictEqual([
      [200, `<${PUBLIC}/v1/pets?${meaning}&cursor=v1.0000000000000001>; rel="next"`],
    ]);
  });

  test.each([
    'limit=1%0d%0aX-Evil:%20b',
    'limit=1%3E;rel=%22next%22',
    'limit=1&cursor=v1.0000000000000000%0d%0a',
    'limit=1#>;rel=next',
  ])('?%s: 400, without a Link', async (query) => {
    await using api = await apiWithTwoPets();
    const answers = await send(api, `GET /v1/pets?${query}`);
    expect(answers.map(({ status, headers }) => [status, headers['link']])).toStrictEqual([[400, undefined]]);
  });
});

const OF_PROXIES = [
  'X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: gopher\r\nX-Forwarded-Prefix: //evil.example\r\n',
  'Forwarded: host="evil.example";proto=gopher\r\nX-Original-URL: //evil.example/\r\n',
  'X-Rewrite-URL: //evil.example/\r\nX-Host: evil.example\r\nOrigin: http://evil.example\r\n',
].join('');

describe('with a public URL, no link is made from the request', () => {
  test.each([
    ['Host', 'GET', 'Host: evil.example:666\r\n'],
    ['the absolute form', 'GET http://evil.example', 'Host: x\r\n'],
    ['the headers of proxies', 'GET', `Host: x\r\n${OF_PROXIES}`],
  ])('%s', async (_, method, headers) => {
    await using api = await apiWithTwoPets();
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
    ['a slash', '/v1/pets/1%2f..%2f2'],
  ])('%s', async (_, path) => {
    await using api = await apiWithTwoPets();
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
    ['line ends', 'a%0d%0ab', 'a\r\nb'],
    ['NUL', '%00', '\0'],
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
    ['one as long as a URL, of control characters', '%01'.repeat(2700)],
  ])('is at most about twice as long as the request: %s', async (_, query) => {
    await using api = await startApi();
    const answer = await api.get(`/v1/pets?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.length).toBeLessThan(2 * query.length + 500);
  });
});
