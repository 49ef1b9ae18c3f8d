import { describe, expect, test } from 'vitest';
import { announced, problem, success, whole } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

const PETS = 'GET, HEAD, OPTIONS, POST';
const READ = 'GET, HEAD, OPTIONS';
const NOT_FOUND = problem(404, 'ROUTE_NOT_FOUND', 'there is nothing at this path');

/** The headers of every answer on getPet's path. */
const deprecation = (api: Api, path: string) => (/^\/v1\/pets\/./.test(path) ? announced(api.url) : {});

describe('one canonical path', () => {
  test.each([
    '/v1',
    '/v1/',
    '/v1/Pets',
    '/V1/pets',
    '/v2/pets',
    '/v1/pet',
    '/v1/petss',
    '/v1//pets',
    '//v1/pets',
    '/v1/pets/1/toys',
    '/v1/./pets',
    '/v1/x/../pets',
    '/v1/%70ets',
    '/v1%2Fpets',
    '/v1/pets;x',
    '/v1/pets%20',
    '/LIVEZ',
    '/metrics',
    '/favicon.ico',
    '/Docs',
    '/docs/index.html',
    '/docs/../openapi.json.map',
    '/.env',
  ])('GET %s: 404', async (path) => {
    await using api = await startApi();
    expect(whole(await api.get(path))).toStrictEqual(NOT_FOUND);
  });

  test.each([
    ['/v1/pets/', '/v1/pets'],
    ['/v1/pets/1/', '/v1/pets/:petId'],
    ['/livez/', '/livez'],
    ['/docs/', '/docs'],
    ['/docs/docs.js/', '/docs/docs.js'],
    ['/pets', '/v1/pets'],
    ['/pets/', '/v1/pets'],
    ['/pets/1', '/v1/pets/:petId'],
  ])('GET %s: 404, which names %s', async (path, meant) => {
    await using api = await startApi();
    expect(whole(await api.get(path))).toStrictEqual(
      problem(404, 'ROUTE_NOT_FOUND', `there is nothing at this path; the path is ${meant}`),
    );
  });

  test.each(['HEAD', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY', 'POST', 'DELETE'])(
    '%s of nothing: 404',
    async (method) => {
      await using api = await startApi();
      const answer = await api.request(method, '/v1/nothing');
      expect(whole(answer)).toStrictEqual(method === 'HEAD' ? { ...NOT_FOUND, body: '' } : NOT_FOUND);
    },
  );
});

const OTHERS = ['PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND', 'M-SEARCH', 'PURGE', 'LINK'];

describe.each([
  ['/v1/pets', PETS, OTHERS],
  ['/v1/pets/1', READ, ['POST', ...OTHERS]],
  ['/v1/pets/not-an-id', READ, ['POST', 'PUT']],
  ['/livez', READ, ['POST', ...OTHERS]],
  ['/readyz', READ, ['POST', 'TRACE']],
  ['/openapi.json', READ, ['POST', 'QUERY']],
  ['/', READ, ['POST', ...OTHERS]],
  ['/docs', READ, ['POST', ...OTHERS]],
  ['/docs/docs.js', READ, ['POST', 'DELETE']],
])('%s allows %s', (path, allow, methods) => {
  test.each(methods)('%s: 405', async (method) => {
    await using api = await startApi();
    expect(whole(await api.request(method, path))).toStrictEqual(
      problem(405, 'METHOD_NOT_ALLOWED', `this path allows ${allow}`, { allow, ...deprecation(api, path) }),
    );
  });

  test('OPTIONS: 204', async () => {
    await using api = await startApi();
    expect(whole(await api.request('OPTIONS', path))).toStrictEqual(
      success(204, '', { allow, ...deprecation(api, path) }),
    );
  });

  test('HEAD: the answer to GET without the body', async () => {
    await using api = await startApi();
    const answers = [await api.get(path), await api.request('HEAD', path)];
    const [get, head] = answers.map(({ headers, ...answer }) => {
      const { 'x-request-id': _id, date: _date, ...same } = headers;
      return { ...answer, rawHeaders: undefined, headers: same };
    });
    expect(head).toStrictEqual({ ...get, body: '' });
  });
});

test('HEAD and OPTIONS change nothing', async () => {
  await using api = await startApi();
  const headers = { 'content-type': 'application/json' };
  await api.request('HEAD', '/v1/pets', { headers, body: petBody() });
  await api.request('OPTIONS', '/v1/pets', { headers, body: petBody() });
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

describe('targets that are not a path', () => {
  const send = (api: Api, line: string, host = 'Host: petstore.example') =>
    api.raw(`${line} HTTP/1.1\r\n${host}\r\nAuthorization: Bearer ${api.key}\r\nConnection: close\r\n\r\n`);
  const bad = (message: string) => problem(400, 'INVALID_ARGUMENT', message);

  test.each<readonly [string, ReturnType<typeof success>]>([
    ['OPTIONS *', success(204, '', { allow: PETS })],
    ['GET *', problem(405, 'METHOD_NOT_ALLOWED', `this path allows ${PETS}`, { allow: PETS })],
    ['GET http://petstore.example/v1/pets', success(200, '[]')],
    ['GET HTTP://other.example:8080/v1/pets?limit=1', success(200, '[]')],
    [
      'GET http://petstore.example',
      success(
        200,
        '{"api":"http://petstore.example/v1","docs":"http://petstore.example/docs",' +
          '"openapi":"http://petstore.example/openapi.json"}',
        { vary: 'Accept' },
      ),
    ],
    // A target has no fragment: RFC 9112, section 3.2.
    ['GET /v1/pets#?status=sold', bad('the request target is not a URL')],
    ['GET http://petstore.example/v1/pets#', bad('the request target is not a URL')],
    ['GET http://user@petstore.example/v1/pets', bad('the request must have one valid Host header')],
    ['GET http:///v1/pets', bad('the request must have one valid Host header')],
    ...[
      '/v1/pets#',
      '/v1/pets?limit=5#x',
      '/v1/pets/1#',
      '/v1\\pets#',
      '/v1\\pets',
      'http://petstore.example/v1\\pets',
      'http://petstore.example/v1/pets#x',
      'ftp://petstore.example/v1/pets',
      'foo://petstore.example/v1/pets',
      '*?limit=5',
    ].map((target) => [`GET ${target}`, bad('the request target is not a URL')] as const),
    // Koa's parser of URLs throws, each in its own way.
    ...['[::1/v1/pets', '%@x/', 'a%zz:b@x/'].map(
      (rest) => [`GET http://${rest}`, bad('the request target is not a URL')] as const,
    ),
    ['CONNECT petstore.example:443', bad('the request target is not a URL')],
    ['CONNECT /v1/pets', problem(405, 'METHOD_NOT_ALLOWED', `this path allows ${PETS}`, { allow: PETS })],
  ])('%s', async (line, expected) => {
    await using api = await startApi();
    expect((await send(api, line)).map(whole)).toStrictEqual([expected]);
  });

  test.each(['FOO', 'get', 'GETT', 'G@T', ''])('a method that Node does not know: %j', async (method) => {
    await using api = await startApi();
    const answers = await send(api, `${method} /v1/pets`);
    expect(answers.map(whole)).toStrictEqual([bad('the request has no HTTP method that this service knows')]);
  });
});
