import { describe, expect, test } from 'vitest';
import { invalid, brief } from '../../support/answer.ts';
import { KEY, keyWith, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const TEXT_TYPE = { 'content-type': 'text/plain' };
const JSON_IN_GZIP = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
const JSON_TYPE = { 'content-type': 'application/json' };
const ANONYMOUS = { authorization: undefined };
const LONG_QUERY = `?x=${'x'.repeat(8192)}`;
const HUGE_BODY = 'x'.repeat(64 * 1024 + 1);

describe('the first problem in the order of evaluation decides the answer', () => {
  // Each row lacks the problem that decided the answer in the row above.
  test.each([
    ['PUT', 'URI_TOO_LONG', `/v1/nothing${LONG_QUERY}`, { ...TEXT_TYPE, ...ANONYMOUS }, HUGE_BODY],
    ['POST', 'UNAUTHENTICATED', '/v1/pets?x=1', { ...TEXT_TYPE, ...ANONYMOUS }, HUGE_BODY],
    ['PUT', 'ROUTE_NOT_FOUND', '/v1/nothing', TEXT_TYPE, HUGE_BODY],
    ['PUT', 'METHOD_NOT_ALLOWED', '/v1/pets?x=1', TEXT_TYPE, HUGE_BODY],
    ['POST', 'UNSUPPORTED_MEDIA_TYPE', '/v1/pets?x=1', TEXT_TYPE, HUGE_BODY],
    ['POST', 'UNSUPPORTED_MEDIA_TYPE', '/v1/pets?x=1', JSON_IN_GZIP, HUGE_BODY],
    ['POST', 'INVALID_ARGUMENT', '/v1/pets?x=1', JSON_TYPE, HUGE_BODY],
    ['POST', 'PAYLOAD_TOO_LARGE', '/v1/pets', JSON_TYPE, HUGE_BODY],
    ['POST', 'MALFORMED_JSON', '/v1/pets', JSON_TYPE, '{'],
    ['GET', 'INVALID_ARGUMENT', '/v1/pets?cursor=x&limit=0', {}, undefined],
    ['GET', 'INVALID_CURSOR', '/v1/pets?cursor=x', {}, undefined],
  ])('for a %s that is answered with %s', async (method, code, path, headers, body) => {
    await using api = await startApi();
    const answer = await api.request(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(JSON.parse(answer.body)).toMatchObject({ code });
  });

  test.each([
    ['PUT', 'RATE_LIMITED', '/v1/nothing', TEXT_TYPE, 0],
    ['GET', 'RATE_LIMITED', '/v1/pets/x?y', {}, 0],
    ['PUT', 'METHOD_NOT_ALLOWED', '/v1/pets?x=1', TEXT_TYPE, 1],
    ['PUT', 'ROUTE_NOT_FOUND', '/v1/nothing', TEXT_TYPE, 1],
    ['POST', 'PERMISSION_DENIED', '/v1/pets?x=1', TEXT_TYPE, 1],
    ['GET', 'PERMISSION_DENIED', '/v1/pets/x?y', {}, 1],
  ])('for a limited key without scopes: %s %s %s', async (method, code, path, headers, requestsLeft) => {
    const limiter = { take: async () => ({ allowed: requestsLeft > 0, remaining: 0, resetSeconds: 1 }) };
    const tokens = keyWith({ scopes: [] });
    const rateLimit = { requests: 1, seconds: 1 };
    // getPet is removed at this time. The service checks this after the rate limit and the scopes, so no answer is 410.
    const now = () => new Date('2031-01-01T00:00:00Z');
    await using api = await startApi({ limiter, tokens, rateLimit, now });
    const body = method === 'GET' ? {} : { body: HUGE_BODY };
    const answer = await api.request(method, path, { headers, ...body });
    expect(JSON.parse(answer.body)).toMatchObject({ code });
  });

  test('in this order: the Host, the forwarded headers, the length of the URL, the API key', async () => {
    await using api = await startApi({ trustProxy: true });
    const wrongHeaders = { ...ANONYMOUS, 'x-forwarded-host': '<>' };
    const messages = [];
    for (const [path, headers] of [
      [`/v1/pets${LONG_QUERY}`, { ...wrongHeaders, host: 'a b' }],
      [`/v1/pets${LONG_QUERY}`, wrongHeaders],
      [`/v1/pets${LONG_QUERY}`, ANONYMOUS],
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
  ['in chunks', 'Transfer-Encoding: chunked'],
])('unknown query parameters are refused before the service reads a body %s', async (_, framing) => {
  await using api = await startApi();
  const connection = await api.connect(post(`${framing}\r\n`).replace('/v1/pets', '/v1/pets?limit=1'));
  expect(brief(await connection.answer())).toStrictEqual(
    invalid('limit is not a parameter of this operation'),
  );
});

describe('a client that waits for "100 Continue"', () => {
  const POST = `Host: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n`;

  test.each([
    ['has no valid Host', POST.replace('Host: x', 'Host: a b'), 'INVALID_ARGUMENT'],
    ['has no key', POST.replace('Authorization', 'X'), 'UNAUTHENTICATED'],
    ['has a media type other than JSON', POST.replace('json', 'xml'), 'UNSUPPORTED_MEDIA_TYPE'],
    ['has a Content-Encoding', `${POST}Content-Encoding: gzip\r\n`, 'UNSUPPORTED_MEDIA_TYPE'],
    ['announces a body that is too long', POST.replace('50', '65537'), 'PAYLOAD_TOO_LARGE'],
    ['has a malformed Idempotency-Key', `${POST}Idempotency-Key: a b\r\n`, 'INVALID_IDEMPOTENCY_KEY'],
  ])('receives no 100 but a final answer, and is disconnected, if it %s', async (_, headers, code) => {
    await using api = await startApi();
    const connection = await api.connect(`POST /v1/pets HTTP/1.1\r\n${headers}Expect: 100-continue\r\n\r\n`);
    const answer = await connection.answer();
    expect(JSON.parse(answer.body)).toMatchObject({ code });
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
  });

  test('receives no 100 if the operation reads no body', async () => {
    await using api = await startApi();
    const answers = await api.raw(`GET /v1/pets HTTP/1.1\r\n${POST}Expect: 100-continue\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toStrictEqual([200]);
  });

  test('receives 100 if the service will read the body, and the connection stays open', async () => {
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
