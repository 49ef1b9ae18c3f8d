import { describe, expect, test } from 'vitest';
import { sunsetHeaders, success, UNAUTHENTICATED, brief } from '../../support/answer.ts';
import { type Api, KEY, startApi } from '../../support/http.ts';
import { FailingPetRepository } from '../../support/pets.ts';

// Web pages of these origins may use the API.
const SHOP = 'https://shop.example';
const ADMIN = 'http://admin.example:8080';
const ORIGINS = [SHOP, ADMIN];

const VARY = { vary: 'Origin' };

const EXPOSED_HEADERS =
  'Link, Next-Cursor, Location, Deprecation, Sunset, RateLimit, RateLimit-Policy, Retry-After, ' +
  'X-Request-Id, Idempotent-Replayed, WWW-Authenticate';

/** The headers with which an answer lets a page of this origin read it. */
function corsFor(origin: string): Record<string, string> {
  return { ...VARY, 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED_HEADERS };
}

const PREFLIGHT_HEADERS = {
  allow: 'GET, HEAD, OPTIONS, POST',
  'access-control-allow-methods': 'GET, HEAD, POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Content-Encoding, Idempotency-Key, X-Request-Id, traceparent, tracestate, baggage',
  'access-control-max-age': '7200',
};

const NO_KEY = { authorization: undefined };

/** Sends a preflight: the request without a key that a browser sends before a request with an API key. */
function preflight(api: Api, path: string, headers: Record<string, string> = {}): ReturnType<Api['get']> {
  return api.request('OPTIONS', path, {
    headers: {
      ...NO_KEY,
      origin: SHOP,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
      ...headers,
    },
  });
}

test('a page of an allowed origin may read an answer', async () => {
  await using api = await startApi({ corsOrigins: ORIGINS });
  for (const origin of ORIGINS) {
    expect(brief(await api.get('/v1/pets', { origin }))).toStrictEqual(success(200, '[]', corsFor(origin)));
  }
});

// The service makes these checks in this order. The CORS headers must be there even if the first check fails.
test.each([
  ['a request with a wrong Host', 400, '/v1/pets', { host: 'no host' }],
  ['a request with a long URL', 414, `/v1/pets?${'x'.repeat(8192)}`, {}],
  ['a request without a key', 401, '/v1/pets', NO_KEY],
  ['a request for an unknown path', 404, '/nothing', {}],
  ['a request that meets a bug', 500, '/v1/pets', {}],
])('a page of an allowed origin may read the error answer to %s', async (_, status, path, headers) => {
  await using api = await startApi({
    corsOrigins: ORIGINS,
    pets: new FailingPetRepository(new Error('bug')),
  });
  const answer = await api.get(path, { origin: SHOP, ...headers });
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject(corsFor(SHOP));
});

test('a request from an origin that is not allowed is answered, but without the header that lets a page read the answer', async () => {
  await using api = await startApi({ corsOrigins: ORIGINS });
  // These origins are similar to SHOP, but none of them is SHOP.
  const variants = ['http://shop.example', `${SHOP}:8443`, `${SHOP}.evil.example`, 'https://SHOP.example'];
  for (const origin of [undefined, '*', 'null', ...variants, `${SHOP}, ${ADMIN}`, [SHOP, SHOP]]) {
    expect(brief(await api.get('/v1/pets', { origin }))).toStrictEqual(success(200, '[]', VARY));
  }
});

describe('a preflight', () => {
  test.each(['/v1/pets', '/v1/pets/1', '/v1/nothing', '/livez'])(
    'for the path %s needs no key, and does not reveal whether the path exists',
    async (path) => {
      await using api = await startApi({ corsOrigins: ORIGINS });
      const extraHeaders = path === '/v1/pets/1' ? sunsetHeaders(api.url) : {};
      const expected = success(204, '', { ...corsFor(SHOP), ...PREFLIGHT_HEADERS, ...extraHeaders });
      expect(brief(await preflight(api, path))).toStrictEqual(expected);
    },
  );

  test('gets the same answer for an unknown method as for GET, and does not count against a rate limit', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS, rateLimit: { requests: 1, seconds: 3600 } });
    // A browser sends no key here. With a key, the service could count the preflight.
    const headers = { authorization: `Bearer ${KEY}`, 'access-control-request-method': 'DELETE' };
    const answer = await preflight(api, '/v1/pets', { origin: ADMIN, ...headers });
    expect(brief(answer)).toStrictEqual(success(204, '', { ...corsFor(ADMIN), ...PREFLIGHT_HEADERS }));
    expect((await api.get('/v1/pets', { origin: SHOP })).status).toBe(200);
  });

  // In these cases the request is no preflight for the service, so it needs a key.
  test.each([
    ['has an origin that is not allowed', 'OPTIONS', { origin: 'https://evil.example' }, VARY],
    ['has no origin', 'OPTIONS', { origin: undefined }, VARY],
    ['has no requested method', 'OPTIONS', { 'access-control-request-method': undefined }, corsFor(SHOP)],
    ['has the method GET', 'GET', {}, corsFor(SHOP)],
  ])('is answered with 401 if it %s', async (_, method, changedHeaders, corsHeaders) => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    const headers = { ...NO_KEY, origin: SHOP, 'access-control-request-method': 'GET', ...changedHeaders };
    expect(brief(await api.request(method, '/v1/pets', { headers }))).toStrictEqual({
      ...UNAUTHENTICATED,
      headers: { ...corsHeaders, ...UNAUTHENTICATED.headers },
    });
  });

  test('is refused if its Host is malformed or its URL is too long', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    expect((await preflight(api, '/v1/pets', { host: 'no host' })).status).toBe(400);
    expect((await preflight(api, `/v1/pets?${'x'.repeat(8192)}`)).status).toBe(414);
  });
});

test('no answer has CORS headers when no origin is allowed', async () => {
  await using api = await startApi();
  expect(brief(await api.get('/v1/pets', { origin: SHOP }))).toStrictEqual(success(200, '[]'));
  expect(brief(await preflight(api, '/v1/pets'))).toStrictEqual(UNAUTHENTICATED);
});
