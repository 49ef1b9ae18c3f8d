import { expect, it } from 'vitest';
import { expectConforms, type CheckedResponse } from './conformance.ts';

type Headers = CheckedResponse['headers'];

const REX = '{"id":1,"name":"Rex","categoryId":-9223372036854775808,"status":"available"}';

/** A correct answer, except for `changes` and `headers`. A header with the value `undefined` counts as missing. */
function answer(changes: Partial<CheckedResponse>, headers: Headers = {}): CheckedResponse {
  const { method = 'GET', path = '/v1/pets', status = 200, body = `[${REX}]` } = changes;
  const contentHeaders = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  };
  const commonHeaders = {
    'x-request-id': 'a-1_b.c',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
  const hasNoBody = status === 204 || method === 'HEAD';
  const allHeaders = { ...commonHeaders, ...(status === 204 ? {} : contentHeaders), ...headers };
  return { method, path, status, headers: allHeaders, body: hasNoBody ? '' : body };
}

const DEPRECATED = {
  deprecation: '@1795132800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '<http://127.0.0.1:1/docs#getPet>; rel="deprecation"; type="text/html"',
};
const HTML = { 'content-type': 'text/html; charset=utf-8' };
const HTML_WITH_POLICY = { ...HTML, 'content-security-policy': 'x' };
const ROOT_BODY = '{"api":"http://a/v1","docs":"http://a/docs","openapi":"http://a/openapi.json"}';

function error(status: number, code: string, headers?: Headers, path = '/v1/pets'): CheckedResponse {
  return answer({ path, status, body: `{"code":"${code}","message":"m","status":${status}}` }, headers);
}

/** An answer 404 on a path that is not in the OpenAPI document. Only the rules for every answer apply to it. */
const notFound = (headers: Headers) => error(404, 'ROUTE_NOT_FOUND', headers, '/x');

/** An answer of getPet, in which `replacement` replaces `part` of the JSON. */
const pet = (part: string, replacement: string) =>
  answer({ path: '/v1/pets/1', body: REX.replace(part, replacement) }, DEPRECATED);

/** An answer 500 with this body. */
const failedAnswer = (body: string, path = '/v1/pets') => answer({ path, status: 500, body });
const optionsAnswer = (headers: Headers) => answer({ method: 'OPTIONS', status: 204 }, headers);
const pageAnswer = (path: string, headers: Headers) => answer({ path, body: '<!doctype html>' }, headers);

// Correct answers need no test here: every HTTP test passes its answers to `expectConforms`.
it.each<[problem: string, response: CheckedResponse]>([
  ['x-request-id is missing', notFound({ 'x-request-id': undefined })],
  ['x-request-id is "a b"', notFound({ 'x-request-id': 'a b' })],
  ['x-content-type-options is missing', notFound({ 'x-content-type-options': undefined })],
  ['cache-control is "private"', notFound({ 'cache-control': 'private' })],
  ['content-type is "text/html"', notFound({ 'content-type': 'text/html' })],
  ['content-length is "3"', notFound({ 'content-length': '3' })],
  ['transfer-encoding is present', notFound({ 'transfer-encoding': 'chunked' })],
  ['content-type is present', optionsAnswer({ allow: 'GET', 'content-type': 'text/plain' })],
  ['the body is present', { ...answer({ method: 'HEAD' }), body: '[]' }],
  ['the body is missing', answer({ body: '' })],
  ['listPets must not answer 202', answer({ status: 202 })],
  ['listPets must not answer 415', error(415, 'UNSUPPORTED_MEDIA_TYPE')],
  ['listPets must not answer 405', error(405, 'METHOD_NOT_ALLOWED', { allow: 'GET' })],
  ['200 is not documented', answer({ path: '/v1/cats' })],
  ['content-type is "application/json; charset=utf-8"', answer({ path: '/docs/docs.js', body: '{}' })],
  ['cache-control is "public"', pageAnswer('/docs?x', { ...HTML_WITH_POLICY, 'cache-control': 'public' })],
  ['content-type is "text/html; charset=utf-8"', error(500, 'INTERNAL', HTML, '/docs')],
  ['302 is not documented', answer({ path: '/livez', status: 302, body: ROOT_BODY }, { location: '/docs' })],
  ['Retry-After is missing', error(503, 'UNAVAILABLE', {}, '/readyz')],
  ['Allow is missing', { ...error(405, 'METHOD_NOT_ALLOWED'), method: 'PUT' }],
  ['Allow is missing', optionsAnswer({})],
  ['WWW-Authenticate is missing', error(401, 'UNAUTHENTICATED', {}, '/v1')],
  ['WWW-Authenticate is missing', error(401, 'UNAUTHENTICATED')],
  ['Retry-After is not an integer: soon', error(503, 'UNAVAILABLE', { 'retry-after': 'soon' })],
  ['Link must match pattern', answer({}, { link: '</v1/pets?cursor=v1.MQ>; rel="next"' })],
  ['the body is not JSON', answer({ body: '[' })],
  ['the body/status must be equal to one of the allowed values', pet('available', 'Available')],
  ['the number 9223372036854775808 is not an int64', pet('-9223372036854775808', '9223372036854775808')],
  ['the number -9.223372036854776e18 is not an int64', pet('-9223372036854775808', '-9.223372036854776e18')],
  [
    'the fields of the error are code, stack, status',
    failedAnswer('{"code":"INTERNAL","status":500,"stack":"at"}', '/x'),
  ],
  ['the body is not an Error', failedAnswer('"INTERNAL"', '/x')],
  ['the status in the body is 503', failedAnswer('{"code":"INTERNAL","message":"m","status":503}')],
  ['the code OOPS is unknown', error(500, 'OOPS', {}, '/x')],
  ['the code GONE goes with 410', error(500, 'GONE', {}, '/x')],
  ['the code MALFORMED_JSON is not documented for this answer', error(400, 'MALFORMED_JSON')],
])('expectConforms reports only this problem: %s', (problem, response) => {
  expect(() => expectConforms(response)).toThrow(
    new RegExp(`^[^\\n]+ breaks the contract:\\n- ${RegExp.escape(problem)}[^\\n]*$`),
  );
});

it('the error of expectConforms names the request and every problem', () => {
  const badAnswer = answer({ path: '/v1/pets?limit=3', body: '{}' }, { 'cache-control': undefined });
  expect(() => expectConforms(badAnswer)).toThrow(
    'GET /v1/pets?limit=3 200 breaks the contract:\n' +
      '- cache-control is missing\n- the body must be array',
  );
});
