import { describe, expect, test } from 'vitest';
import {
  notAllowed,
  sunsetHeaders,
  invalid,
  NO_METHOD,
  problem,
  success,
  brief,
} from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

/** `PETS` has the methods of /v1/pets, and `READ` the methods of a path that can only be read. */
const PETS = 'GET, HEAD, OPTIONS, POST';
const READ = 'GET, HEAD, OPTIONS';
const NOT_FOUND = problem(404, 'ROUTE_NOT_FOUND', 'there is nothing at this path');

/** The headers that announce a deprecation, if the path is that of getPet. */
const sunsetHeadersOf = (api: Api, path: string) =>
  /^\/v1\/pets\/./.test(path) ? sunsetHeaders(api.url) : {};

describe('a request for a path without an operation', () => {
  test.each([
    '/v1',
    '/v1/Pets',
    '/v2/pets',
    '/v1/petss',
    '/v1//pets',
    '/v1/pets/1/toys',
    '/x/v1/pets/1',
    '/v1/x/../pets',
    '/v1/%70ets',
    '/v1%2Fpets',
    '/metrics',
    '/docs/index.html',
  ])('is answered with 404: GET %s', async (path) => {
    await using api = await startApi();
    expect(brief(await api.get(path))).toStrictEqual(NOT_FOUND);
  });

  test.each([
    ['/v1/pets/', '/v1/pets'],
    ['/v1/pets/1/', '/v1/pets/:petId'],
    ['/livez/', '/livez'],
    ['/docs/docs.js/', '/docs/docs.js'],
    ['/pets/', '/v1/pets'],
    ['/pets/1', '/v1/pets/:petId'],
  ])('is answered with 404 and the similar path that exists: GET %s, %s', async (path, similarPath) => {
    await using api = await startApi();
    expect(brief(await api.get(path))).toStrictEqual(
      problem(404, 'ROUTE_NOT_FOUND', `there is nothing at this path; the path is ${similarPath}`),
    );
  });

  test.each(['HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'POST'])('is answered with 404: %s', async (method) => {
    await using api = await startApi();
    const answer = await api.request(method, '/v1/nothing');
    expect(brief(answer)).toStrictEqual(method === 'HEAD' ? { ...NOT_FOUND, body: '' } : NOT_FOUND);
  });
});

/** Methods that no path allows. */
const OTHERS = ['PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND', 'M-SEARCH', 'LINK'];

test.each([
  ['/v1/pets', PETS, OTHERS],
  ['/v1/pets/1', READ, ['POST', ...OTHERS]],
  ['/v1/pets/not-an-id', READ, ['POST']],
  ['/livez', READ, ['POST', ...OTHERS]],
  ['/openapi.json', READ, ['POST']],
  ['/', READ, ['POST']],
  ['/docs', READ, ['POST']],
])(
  '%s allows %s: HEAD is answered like GET without the body, OPTIONS with 204, and other methods with 405',
  async (path, allow, methods) => {
    await using api = await startApi();
    const sunset = sunsetHeadersOf(api, path);
    for (const method of methods) {
      expect(brief(await api.request(method, path)), method).toStrictEqual(notAllowed(allow, sunset));
    }
    expect(brief(await api.request('OPTIONS', path))).toStrictEqual(success(204, '', { allow, ...sunset }));
    const [get, head] = [await api.get(path), await api.request('HEAD', path)].map(
      ({ headers, ...answer }) => {
        const { 'x-request-id': _id, date: _date, ...comparedHeaders } = headers;
        return { ...answer, rawHeaders: undefined, headers: comparedHeaders };
      },
    );
    expect(head).toStrictEqual({ ...get, body: '' });
  },
);

test('HEAD and OPTIONS create no pet, even with the body of a create request', async () => {
  await using api = await startApi();
  const headers = { 'content-type': 'application/json' };
  await api.request('HEAD', '/v1/pets', { headers, body: petBody() });
  await api.request('OPTIONS', '/v1/pets', { headers, body: petBody() });
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

describe('a request with an unusual first line', () => {
  const send = (api: Api, line: string, host = 'Host: petstore.example') =>
    api.raw(`${line} HTTP/1.1\r\n${host}\r\nAuthorization: Bearer ${api.key}\r\nConnection: close\r\n\r\n`);
  const INVALID_TARGET = invalid('the request target is not a URL');

  test.each<readonly [string, ReturnType<typeof success>]>([
    ['OPTIONS *', success(204, '', { allow: PETS })],
    ['GET *', notAllowed(PETS)],
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
    ['GET /v1/pets#?status=sold', INVALID_TARGET],
    ['GET http://petstore.example/v1/pets#', INVALID_TARGET],
    ['GET http:///v1/pets', invalid('the request must have one valid Host header')],
    ...[
      '/v1/pets/1#',
      '/v1\\pets',
      'http://petstore.example/v1\\pets',
      'ftp://petstore.example/v1/pets',
      '*?limit=5',
    ].map((target) => [`GET ${target}`, INVALID_TARGET] as const),
    // For each of these, Koa's parser of URLs throws a different error.
    ...['[::1/v1/pets', '%@x/', 'a%zz:b@x/'].map((rest) => [`GET http://${rest}`, INVALID_TARGET] as const),
  ])('has the right answer: %s', async (line, expected) => {
    await using api = await startApi();
    expect((await send(api, line)).map(brief)).toStrictEqual([expected]);
  });

  test.each(['FOO', 'get', ''])('is refused if Node does not know the method %j', async (method) => {
    await using api = await startApi();
    expect((await send(api, `${method} /v1/pets`)).map(brief)).toStrictEqual([NO_METHOD]);
  });
});
