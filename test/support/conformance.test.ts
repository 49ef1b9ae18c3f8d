import { describe, expect, it } from 'vitest';
import { expectConforms, type SeenResponse } from './conformance.ts';

const REX = '{"id":1,"name":"Rex","categoryId":-9223372036854775808,"status":"available"}';

/** A correct answer with changes. A header of `undefined` is left out. */
function answer(changes: Partial<SeenResponse>, headers: SeenResponse['headers'] = {}): SeenResponse {
  const { method = 'GET', path = '/v1/pets', status = 200, body = `[${REX}]` } = changes;
  const bodiless = status === 204 || method === 'HEAD';
  return {
    method,
    path,
    status,
    headers: {
      'x-request-id': 'a-1_b.c',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      ...(status === 204
        ? {}
        : {
            'content-type': 'application/json; charset=utf-8',
            'content-length': String(Buffer.byteLength(body)),
          }),
      ...headers,
    },
    body: bodiless ? '' : body,
  };
}

const HTML = 'text/html; charset=utf-8';
const WAY = '{"api":"http://a/v1","docs":"http://a/docs","openapi":"http://a/openapi.json"}';

const REX_ANSWER = { path: '/v1/pets/1', body: REX };
const DEPRECATED = {
  deprecation: '@1795132800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '<http://127.0.0.1:1/docs#getPet>; rel="deprecation"; type="text/html"',
};

const LIMIT = { 'ratelimit-policy': '"key";q=600;w=60', ratelimit: '"key";r=599;t=60' };
const USED_UP = { ...LIMIT, ratelimit: '"key";r=0;t=30', 'retry-after': '30' };

const challenge = (scope: string) => `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`;

const CORS = {
  vary: 'Origin',
  'access-control-allow-origin': 'https://shop.example',
  'access-control-expose-headers': 'Link',
};

function error(status: number, code: string, more = ''): Pick<SeenResponse, 'status' | 'body'> {
  return { status, body: `{"code":"${code}","message":"m","status":${status}${more}}` };
}

/** An answer that the document does not describe: only the rules for every answer apply. */
function elsewhere(headers: SeenResponse['headers']): SeenResponse {
  return answer({ path: '/x', ...error(404, 'ROUTE_NOT_FOUND') }, headers);
}

function problemsOf(response: SeenResponse): string[] {
  try {
    expectConforms(response);
    return [];
  } catch (failure) {
    return (failure as Error).message.split('\n- ').slice(1);
  }
}

// What conforms is in every HTTP test.
describe('what does not conform', () => {
  it.each<[string, SeenResponse, string]>([
    ['no request id', elsewhere({ 'x-request-id': undefined }), 'x-request-id is missing'],
    ['an unfit request id', elsewhere({ 'x-request-id': 'a b' }), 'x-request-id is a b'],
    ['no nosniff', elsewhere({ 'x-content-type-options': undefined }), 'x-content-type-options is missing'],
    ['a cache', elsewhere({ 'cache-control': 'private' }), 'cache-control is private'],
    ['another type', elsewhere({ 'content-type': 'text/html' }), 'content-type is text/html'],
    ['a wrong length', elsewhere({ 'content-length': '3' }), 'content-length is 3'],
    ['chunks', elsewhere({ 'transfer-encoding': 'chunked' }), 'transfer-encoding is present'],
    [
      'a type of nothing',
      answer({ method: 'OPTIONS', status: 204 }, { allow: 'GET', 'content-type': 'text/plain' }),
      'content-type is present',
    ],
    ['HEAD with a body', { ...answer({ method: 'HEAD' }), body: '[]' }, 'the body is present'],
    ['no body', answer({ body: '' }), 'the body is missing'],
    ['an undocumented status', answer({ status: 202 }), 'listPets does not answer 202'],
    [
      'a status of another operation',
      answer({ ...error(415, 'UNSUPPORTED_MEDIA_TYPE') }),
      'listPets does not answer 415',
    ],
    [
      'a method refused that the path knows',
      answer({ ...error(405, 'METHOD_NOT_ALLOWED') }, { allow: 'GET' }),
      'listPets does not answer 405',
    ],
    ['success at an unknown path', answer({ path: '/v1/cats' }), '200 is not documented'],
    [
      'a page in JSON',
      answer({ path: '/docs/docs.js', body: '{}' }),
      'content-type is application/json; charset=utf-8',
    ],
    [
      'a page without a policy',
      answer({ path: '/docs', body: '<!doctype html>' }, { 'content-type': HTML }),
      'Content-Security-Policy is missing',
    ],
    [
      'a page in a cache',
      answer(
        { path: '/docs?x', body: '<!doctype html>' },
        { 'content-type': HTML, 'content-security-policy': 'x', 'cache-control': 'public' },
      ),
      'cache-control is public',
    ],
    [
      'an error in HTML',
      answer({ path: '/docs', ...error(500, 'INTERNAL') }, { 'content-type': HTML }),
      `content-type is ${HTML}`,
    ],
    ['a way to nowhere', answer({ path: '/', status: 302, body: WAY }), 'Location is wrong'],
    [
      'another way',
      answer({ path: '/livez', status: 302, body: WAY }, { location: '/docs' }),
      '302 is not documented',
    ],
    [
      'another health',
      answer({ path: '/livez', body: '{"status":"bad"}' }),
      'the body is not that of this path',
    ],
    ['no document', answer({ path: '/openapi.json', body: '{}' }), 'the body is not that of this path'],
    [
      'health that looks at the storage',
      answer({ path: '/livez', ...error(503, 'UNAVAILABLE') }, { 'retry-after': '2' }),
      '/livez does not answer UNAVAILABLE',
    ],
    [
      'health for a key',
      answer({ path: '/readyz', ...error(403, 'PERMISSION_DENIED') }),
      '/readyz does not answer PERMISSION_DENIED',
    ],
    [
      'no readiness and no time to wait',
      answer({ path: '/readyz', ...error(503, 'UNAVAILABLE') }),
      'Retry-After is missing',
    ],
    [
      'health created',
      answer({ path: '/livez', status: 201, body: '{"status":"ok"}' }),
      '201 is not documented',
    ],
    [
      'another method without Allow',
      answer({ method: 'PUT', ...error(405, 'METHOD_NOT_ALLOWED') }),
      'Allow is missing',
    ],
    [
      'an unknown path without a challenge',
      answer({ path: '/v1', ...error(401, 'UNAUTHENTICATED') }),
      'WWW-Authenticate is missing',
    ],
    ['no challenge', answer({ ...error(401, 'UNAUTHENTICATED') }), 'WWW-Authenticate is missing'],
    [
      'another challenge',
      answer({ ...error(401, 'UNAUTHENTICATED') }, { 'www-authenticate': 'Basic' }),
      'WWW-Authenticate must match pattern',
    ],
    ['no time to wait', answer(error(503, 'UNAVAILABLE')), 'Retry-After is missing'],
    [
      'a time to wait that is none',
      answer(error(503, 'UNAVAILABLE'), { 'retry-after': 'soon' }),
      'Retry-After is not an integer: soon',
    ],
    [
      'no deprecation',
      answer(REX_ANSWER, { ...DEPRECATED, deprecation: undefined }),
      'Deprecation is missing',
    ],
    [
      'another day',
      answer(REX_ANSWER, { ...DEPRECATED, sunset: 'Fri, 06 Dec 2030 00:00:00 GMT' }),
      'Sunset must be equal to one of the allowed values',
    ],
    [
      'a relative link',
      answer({}, { link: '</v1/pets?cursor=v1.MQ>; rel="next"' }),
      'Link must match pattern',
    ],
    [
      'a place elsewhere',
      answer({ method: 'POST', status: 201, body: REX }, { location: '/pets/1' }),
      'Location must match pattern',
    ],
    [
      'too many without a time to wait',
      answer({ path: '/x', ...error(429, 'RATE_LIMITED') }, { ...USED_UP, 'retry-after': undefined }),
      'ratelimit is "key";r=0;t=30, with retry-after undefined',
    ],
    [
      'too many with another time to wait',
      answer(error(429, 'RATE_LIMITED'), { ...USED_UP, 'retry-after': '31' }),
      'ratelimit is "key";r=0;t=30, with retry-after 31',
    ],
    [
      'too many with some left',
      answer(error(429, 'RATE_LIMITED'), { ...LIMIT, 'retry-after': '60' }),
      'ratelimit is "key";r=599;t=60, with retry-after 60',
    ],
    [
      'too many without the limit',
      answer(error(429, 'RATE_LIMITED'), { 'retry-after': '30' }),
      'ratelimit is undefined, with retry-after 30',
    ],
    [
      'a count without its limit',
      answer({}, { ...LIMIT, 'ratelimit-policy': undefined }),
      'ratelimit-policy is missing',
    ],
    [
      'a rest as large as the limit',
      answer({}, { ...LIMIT, ratelimit: '"key";r=600;t=60' }),
      'ratelimit is "key";r=600;t=60, beyond "key";q=600;w=60',
    ],
    [
      'a longer time than the window',
      answer({}, { ...LIMIT, ratelimit: '"key";r=599;t=61' }),
      'ratelimit is "key";r=599;t=61, beyond "key";q=600;w=60',
    ],
    ['another limit', elsewhere({ 'ratelimit-policy': '600;w=60' }), 'ratelimit-policy is 600;w=60'],
    ['another count', elsewhere({ ...LIMIT, ratelimit: 'key;r=599;t=60' }), 'ratelimit is key;r=599;t=60'],
    [
      'a limit without a key',
      answer(error(401, 'UNAUTHENTICATED'), { ...LIMIT, 'www-authenticate': 'Bearer realm="petstore"' }),
      'a rate limit without a key',
    ],
    ['no scope', answer(error(403, 'PERMISSION_DENIED')), 'WWW-Authenticate is missing'],
    [
      'the wrong scope',
      answer(error(403, 'PERMISSION_DENIED'), { 'www-authenticate': challenge('pets:write') }),
      'WWW-Authenticate must be equal to one of the allowed values',
    ],
    [
      'every origin',
      elsewhere({ ...CORS, 'access-control-allow-origin': '*' }),
      'access-control-allow-origin is *',
    ],
    [
      'no origin',
      elsewhere({ ...CORS, 'access-control-allow-origin': undefined }),
      'access-control-allow-origin is undefined',
    ],
    ['a cache that mixes origins', elsewhere({ ...CORS, vary: undefined }), 'vary is undefined'],
    [
      'nothing to read',
      elsewhere({ ...CORS, 'access-control-expose-headers': undefined }),
      'access-control-expose-headers is missing',
    ],
    [
      'cookies',
      elsewhere({ ...CORS, 'access-control-allow-credentials': 'true' }),
      'access-control-allow-credentials is present',
    ],
    [
      'OPTIONS that is no preflight, without Allow',
      answer({ method: 'OPTIONS', status: 204 }, CORS),
      'Allow is missing',
    ],
    ['no JSON', answer({ body: '[' }), 'the body is not JSON'],
    [
      'a field missing',
      answer({ body: `[${REX.replace('"id":1,', '')}]` }),
      "the body/0 must have required property 'id'",
    ],
    [
      'a wrong status of a pet',
      answer({ ...REX_ANSWER, body: REX.replace('available', 'Available') }, DEPRECATED),
      'the body/status must be equal to one of the allowed values',
    ],
    [
      'an id in quotes',
      answer({ ...REX_ANSWER, body: REX.replace('1', '"1"') }, DEPRECATED),
      'the body/id must be integer',
    ],
    [
      'a name that is too long',
      answer({ ...REX_ANSWER, body: REX.replace('Rex', 'x'.repeat(256)) }, DEPRECATED),
      'the body/name must NOT have more than 255 characters',
    ],
    [
      'one beyond int64',
      answer({ ...REX_ANSWER, body: REX.replace('-9223372036854775808', '9223372036854775808') }, DEPRECATED),
      'the number 9223372036854775808 is not an int64',
    ],
    [
      'an integer written as a double',
      answer(
        { ...REX_ANSWER, body: REX.replace('-9223372036854775808', '-9.223372036854776e18') },
        DEPRECATED,
      ),
      'the number -9.223372036854776e18 is not an int64',
    ],
    [
      'a further field of an error',
      answer(error(500, 'INTERNAL', ',"stack":"at"')),
      'the fields of the error are code, message, stack, status',
    ],
    [
      'a field of an error missing',
      answer({ path: '/x', status: 500, body: '{"code":"INTERNAL","status":500}' }),
      'the fields of the error are code, status',
    ],
    [
      'an error that is none',
      answer({ path: '/x', status: 500, body: '"INTERNAL"' }),
      'the body is not an Error',
    ],
    [
      'another status in the error',
      answer({ status: 500, body: '{"code":"INTERNAL","message":"m","status":503}' }),
      'the status in the body is 503',
    ],
    ['an unknown code', answer({ path: '/x', ...error(500, 'OOPS') }), 'the code OOPS is unknown'],
    [
      'a code of another status',
      answer({ path: '/x', ...error(500, 'GONE') }),
      'the code GONE goes with 410',
    ],
    [
      'a code of another operation',
      answer(error(400, 'MALFORMED_JSON')),
      'the code MALFORMED_JSON is not documented for this answer',
    ],
  ])('%s', (_name, response, problem) => {
    expect(problemsOf(response)).toEqual([expect.stringContaining(problem)]);
  });

  it('names the request and every problem', () => {
    const bad = answer({ path: '/v1/pets?limit=3', body: '{}' }, { 'cache-control': undefined });
    expect(() => expectConforms(bad)).toThrow(
      'GET /v1/pets?limit=3 200 breaks the contract:\n' +
        '- cache-control is missing\n- the body must be array',
    );
  });
});
