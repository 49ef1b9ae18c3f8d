import { describe, expect, test } from 'vitest';
import { invalid, whole } from '../../support/answer.ts';
import { KEY, keyWith, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

/** Every line has one problem less than the line before, in the order of evaluation. */
const TEXT = { 'content-type': 'text/plain' };
const ZIP = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
const JSON_TYPE = { 'content-type': 'application/json' };
const ANONYMOUS = { authorization: undefined };
const LONG = `?x=${'x'.repeat(8192)}`;
const HUGE = 'x'.repeat(64 * 1024 + 1);

describe('the first problem in the order of evaluation decides the answer', () => {
  test.each([
    ['PUT', 'URI_TOO_LONG', `/v1/nothing${LONG}`, { ...TEXT, ...ANONYMOUS }, HUGE],
    ['POST', 'UNAUTHENTICATED', '/v1/pets?x=1', { ...TEXT, ...ANONYMOUS }, HUGE],
    ['PUT', 'ROUTE_NOT_FOUND', '/v1/nothing', TEXT, HUGE],
    ['PUT', 'METHOD_NOT_ALLOWED', '/v1/pets?x=1', TEXT, HUGE],
    ['POST', 'UNSUPPORTED_MEDIA_TYPE', '/v1/pets?x=1', TEXT, HUGE],
    ['POST', 'UNSUPPORTED_MEDIA_TYPE', '/v1/pets?x=1', ZIP, HUGE],
    ['POST', 'INVALID_ARGUMENT', '/v1/pets?x=1', JSON_TYPE, HUGE],
    ['POST', 'PAYLOAD_TOO_LARGE', '/v1/pets', JSON_TYPE, HUGE],
    ['POST', 'MALFORMED_JSON', '/v1/pets', JSON_TYPE, '{'],
    ['GET', 'INVALID_ARGUMENT', '/v1/pets?cursor=x&limit=0', {}, undefined],
    ['GET', 'INVALID_CURSOR', '/v1/pets?cursor=x', {}, undefined],
  ])('%s: %s', async (method, code, path, headers, body) => {
    await using api = await startApi();
    const answer = await api.request(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(JSON.parse(answer.body)).toMatchObject({ code });
  });

  test.each([
    ['PUT', 'RATE_LIMITED', '/v1/nothing', TEXT, 0],
    ['GET', 'RATE_LIMITED', '/v1/pets/x?y', {}, 0],
    ['PUT', 'METHOD_NOT_ALLOWED', '/v1/pets?x=1', TEXT, 1],
    ['PUT', 'ROUTE_NOT_FOUND', '/v1/nothing', TEXT, 1],
    ['POST', 'PERMISSION_DENIED', '/v1/pets?x=1', TEXT, 1],
    ['GET', 'PERMISSION_DENIED', '/v1/pets/x?y', {}, 1],
  ])('for a key without scopes, with a limit: %s: %s of %s', async (method, code, path, headers, left) => {
    const limiter = { take: async () => ({ allowed: left > 0, remaining: 0, resetSeconds: 1 }) };
    const tokens = keyWith({ scopes: [] });
    const rateLimit = { requests: 1, seconds: 1 };
    // After the sunset, which is checked last.
    const now = () => new Date('2031-01-01T00:00:00Z');
    await using api = await startApi({ limiter, tokens, rateLimit, now });
    const body = method === 'GET' ? {} : { body: HUGE };
    const answer = await api.request(method, path, { headers, ...body });
    expect(JSON.parse(answer.body)).toMatchObject({ code });
  });

  test('and forwarded headers are checked with the Host, before the length of the URL and the key', async () => {
    await using api = await startApi({ trustProxy: true });
    const wrong = { ...ANONYMOUS, 'x-forwarded-host': '<>' };
    const messages = [];
    for (const [path, headers] of [
      [`/v1/pets${LONG}`, { ...wrong, host: 'a b' }],
      [`/v1/pets${LONG}`, wrong],
      [`/v1/pets${LONG}`, ANONYMOUS],
    ] as const) {
      messages.push((JSON.parse((await api.get(path, headers)).body) as { message: string }).message);
    }
    expect(messages).toStrictEqual([
      'the request must have one valid Host header',
      'X-Forwarded-Host must be a host with an optional port',
      'the URL must be at most 8192 bytes',
    ]);
  });
});

test.each([
  ['of a known length', 'Content-Length: 50'],
  ['of chunks', 'Transfer-Encoding: chunked'],
])('unknown query parameters are refused before the body: a body %s', async (_, framing) => {
  await using api = await startApi();
  const connection = await api.connect(post(`${framing}\r\n`).replace('/v1/pets', '/v1/pets?limit=1'));
  expect(whole(await connection.answer())).toStrictEqual(
    invalid('limit is not a parameter of this operation'),
  );
});

describe('a client that waits for "100 Continue"', () => {
  const POST = `Host: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n`;

  test.each([
    ['has no valid Host', POST.replace('Host: x', 'Host: a b'), 'INVALID_ARGUMENT'],
    ['has no key', POST.replace('Authorization', 'X'), 'UNAUTHENTICATED'],
    ['has another media type', POST.replace('json', 'xml'), 'UNSUPPORTED_MEDIA_TYPE'],
    ['has another coding', `${POST}Content-Encoding: gzip\r\n`, 'UNSUPPORTED_MEDIA_TYPE'],
    ['announces too much', POST.replace('50', '65537'), 'PAYLOAD_TOO_LARGE'],
    ['has a malformed Idempotency-Key', `${POST}Idempotency-Key: a b\r\n`, 'INVALID_IDEMPOTENCY_KEY'],
  ])('has only a final answer, which ends the connection, if it %s', async (_, headers, code) => {
    await using api = await startApi();
    const connection = await api.connect(`POST /v1/pets HTTP/1.1\r\n${headers}Expect: 100-continue\r\n\r\n`);
    const answer = await connection.answer();
    expect(JSON.parse(answer.body)).toMatchObject({ code });
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
  });

  test('receives no 100 from an operation that reads no body', async () => {
    await using api = await startApi();
    const answers = await api.raw(`GET /v1/pets HTTP/1.1\r\n${POST}Expect: 100-continue\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toStrictEqual([200]);
  });

  test('receives 100 when its body will be read, and its connection stays open', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    const body = petBody().padEnd(50);
    for (const expects of ['100-continue', '100-Continue']) {
      await connection.send(`POST /v1/pets HTTP/1.1\r\n${POST}Expect: ${expects}\r\n\r\n`);
      expect((await connection.answer()).status).toBe(100);
      await connection.send(body);
      expect((await connection.answer()).status).toBe(201);
    }
  });
});
