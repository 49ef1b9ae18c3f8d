import { describe, expect, test } from 'vitest';
import { problem, success, whole } from '../../support/answer.ts';
import { type Api, KEY, startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody } from '../../support/pets.ts';

const SHOP = 'https://shop.example';
const ADMIN = 'http://admin.example:8080';
const ORIGINS = [SHOP, ADMIN];

const VARY = { vary: 'Origin' };

const EXPOSED =
  'Link, Next-Cursor, Location, Deprecation, Sunset, RateLimit, RateLimit-Policy, Retry-After, ' +
  'X-Request-Id, Idempotent-Replayed, WWW-Authenticate';

function readable(origin: string): Record<string, string> {
  return { ...VARY, 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED };
}

const ALLOWED = {
  allow: 'GET, HEAD, OPTIONS, POST',
  'access-control-allow-methods': 'GET, HEAD, POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Content-Encoding, Idempotency-Key, X-Request-Id',
  'access-control-max-age': '7200',
};

const ANONYMOUS = { authorization: undefined };

/** What a browser asks before it sends a request with a key. */
function preflight(api: Api, path: string, headers: Record<string, string> = {}): ReturnType<Api['get']> {
  return api.request('OPTIONS', path, {
    headers: {
      ...ANONYMOUS,
      origin: SHOP,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
      ...headers,
    },
  });
}

const MISSING_KEY = 'an API key is required, as "Authorization: Bearer <API_KEY>"';
const CHALLENGE = { 'www-authenticate': 'Bearer realm="petstore"' };

describe('a page of an allowed origin', () => {
  test.each(ORIGINS)('of %s may read an answer', async (origin) => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    expect(whole(await api.get('/v1/pets', { origin }))).toStrictEqual(success(200, '[]', readable(origin)));
  });

  test.each([
    ['GET', 200, '/livez', {}],
    ['GET', 200, '/openapi.json', {}],
    ['HEAD', 200, '/v1/pets', {}],
    ['POST', 201, '/v1/pets', { 'content-type': 'application/json' }],
    ['OPTIONS', 204, '/v1/pets', {}],
    ['GET', 400, '/v1/pets?x', {}],
    ['GET', 400, '/v1/pets', { host: 'no host' }],
    ['GET', 401, '/v1/pets', ANONYMOUS],
    ['GET', 401, '/v1/pets', { authorization: 'Bearer wrong' }],
    ['GET', 404, '/v1/pets/7', {}],
    ['GET', 404, '/nothing', {}],
    ['PUT', 405, '/v1/pets', {}],
    ['GET', 414, `/v1/pets?${'x'.repeat(8192)}`, {}],
    ['POST', 415, '/v1/pets', {}],
  ])('may read what %s answers: %i', async (method, status, path, headers) => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    const body = method === 'POST' ? { body: petBody() } : {};
    const answer = await api.request(method, path, { headers: { origin: SHOP, ...headers }, ...body });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(readable(SHOP));
  });

  test('may read that it exceeds its rate limit', async () => {
    const rateLimit = { requests: 1, seconds: 3600 };
    await using api = await startApi({ corsOrigins: ORIGINS, rateLimit });
    await api.get('/v1/pets');
    const answer = await api.get('/v1/pets', { origin: SHOP });
    expect(answer.status).toBe(429);
    expect(answer.headers).toMatchObject({ ...readable(SHOP), 'retry-after': expect.any(String) });
  });

  test('may read an internal error', async () => {
    await using api = await startApi({
      corsOrigins: ORIGINS,
      pets: new FailingPetRepository(new Error('bug')),
    });
    const answer = await api.get('/v1/pets', { origin: SHOP });
    expect(answer.status).toBe(500);
    expect(answer.headers).toMatchObject(readable(SHOP));
  });
});

describe('any other origin gets the same answer, which pages cannot read', () => {
  test.each([
    ['no origin', undefined],
    ['an empty origin', ''],
    ['another origin', 'https://evil.example'],
    ['another scheme', 'http://shop.example'],
    ['another port', 'https://shop.example:8443'],
    ['the default port, spelled out', 'https://shop.example:443'],
    ['no port', 'http://admin.example'],
    ['a domain below', 'https://www.shop.example'],
    ['a longer domain', 'https://shop.example.evil.example'],
    ['a domain with that end', 'https://evilshop.example'],
    ['a slash', 'https://shop.example/'],
    ['capitals', 'https://SHOP.example'],
    ['two origins', `${SHOP}, ${ADMIN}`],
    ['a star', '*'],
    ['null', 'null'],
  ])('%s', async (_, origin) => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    expect(whole(await api.get('/v1/pets', { origin }))).toStrictEqual(success(200, '[]', VARY));
  });

  test('the same origin twice', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    const answer = await api.request('GET', '/livez', { headers: { origin: [SHOP, SHOP] } });
    expect(whole(answer)).toStrictEqual(success(200, '{"status":"ok"}', VARY));
  });
});

describe('a preflight', () => {
  test.each(['/v1/pets', '/v1/nothing', '/v1', '/livez', '/nothing'])(
    'of %s needs no key, and tells nothing about what is there',
    async (path) => {
      await using api = await startApi({ corsOrigins: ORIGINS });
      const expected = success(204, '', { ...readable(SHOP), ...ALLOWED });
      expect(whole(await preflight(api, path))).toStrictEqual(expected);
    },
  );

  test('of any method gets the same answer: the browser decides', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    const answer = await preflight(api, '/v1/pets', {
      origin: ADMIN,
      'access-control-request-method': 'DELETE',
    });
    expect(whole(answer)).toStrictEqual(success(204, '', { ...readable(ADMIN), ...ALLOWED }));
  });

  test('of the deprecated path also announces the deprecation', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    const { status, headers } = await preflight(api, '/v1/pets/1');
    expect(status).toBe(204);
    expect(headers).toMatchObject({ ...readable(SHOP), ...ALLOWED, deprecation: '@1795132800' });
  });

  test('does not count against a rate limit', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS, rateLimit: { requests: 1, seconds: 3600 } });
    await preflight(api, '/v1/pets', { authorization: `Bearer ${KEY}` });
    expect((await api.get('/v1/pets', { origin: SHOP })).status).toBe(200);
  });

  test('is logged like every other request', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    await preflight(api, '/v1/pets', { 'x-request-id': 'a' });
    expect(await api.log.record(0)).toMatchObject({ requestId: 'a', method: 'OPTIONS', status: 204 });
  });

  test('of another origin is an ordinary request', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    const origin = 'https://evil.example';
    expect(whole(await preflight(api, '/v1/pets', { origin }))).toStrictEqual(
      problem(401, 'UNAUTHENTICATED', MISSING_KEY, { ...VARY, ...CHALLENGE }),
    );
    expect(whole(await preflight(api, '/livez', { origin }))).toStrictEqual(
      success(204, '', { ...VARY, allow: 'GET, HEAD, OPTIONS' }),
    );
  });

  test('is OPTIONS with Access-Control-Request-Method; any other OPTIONS is an ordinary request', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    const headers = { origin: SHOP, ...ANONYMOUS };
    const refused = problem(401, 'UNAUTHENTICATED', MISSING_KEY, { ...readable(SHOP), ...CHALLENGE });
    expect(whole(await api.request('OPTIONS', '/v1/pets', { headers }))).toStrictEqual(refused);
    const asking = { ...headers, 'access-control-request-method': 'GET' };
    expect(whole(await api.get('/v1/pets', asking))).toStrictEqual(refused);
    const { origin: _, ...withoutOrigin } = asking;
    expect(whole(await api.request('OPTIONS', '/v1/pets', { headers: withoutOrigin }))).toStrictEqual(
      problem(401, 'UNAUTHENTICATED', MISSING_KEY, { ...VARY, ...CHALLENGE }),
    );
  });

  test('that is malformed is refused', async () => {
    await using api = await startApi({ corsOrigins: ORIGINS });
    expect((await preflight(api, '/v1/pets', { host: 'no host' })).status).toBe(400);
    expect((await preflight(api, `/v1/pets?${'x'.repeat(8192)}`)).status).toBe(414);
  });
});

describe('without allowed origins, nothing changes on any answer', () => {
  test('of a request', async () => {
    await using api = await startApi();
    expect(whole(await api.get('/v1/pets', { origin: SHOP }))).toStrictEqual(success(200, '[]'));
  });

  test('of a preflight', async () => {
    await using api = await startApi();
    expect(whole(await preflight(api, '/v1/pets'))).toStrictEqual(
      problem(401, 'UNAUTHENTICATED', MISSING_KEY, CHALLENGE),
    );
  });
});
