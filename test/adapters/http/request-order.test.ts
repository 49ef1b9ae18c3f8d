import { describe, expect, test } from 'vitest';
import { startApi } from '../../support/http.ts';

/** Every line has one thing wrong less than the line before, in the order in which a request is judged. */
const TEXT = { 'content-type': 'text/plain' };
const ZIP = { 'content-type': 'application/json', 'content-encoding': 'zip' };
const JSON_TYPE = { 'content-type': 'application/json' };
const ANONYMOUS = { authorization: undefined };
const LONG = `?x=${'x'.repeat(8192)}`;
const HUGE = 'x'.repeat(64 * 1024 + 1);

describe('what is wrong first is answered first', () => {
  test.each([
    ['PUT', 'URI_TOO_LONG', `/v1/nothing${LONG}`, { ...TEXT, ...ANONYMOUS }, HUGE],
    ['PUT', 'UNAUTHENTICATED', '/v1/nothing', { ...TEXT, ...ANONYMOUS }, HUGE],
    ['PUT', 'UNAUTHENTICATED', '/v1/pets', { ...TEXT, ...ANONYMOUS }, HUGE],
    ['POST', 'UNAUTHENTICATED', '/v1/pets?x=1', { ...TEXT, ...ANONYMOUS }, HUGE],
    ['PUT', 'ROUTE_NOT_FOUND', '/v1/nothing', TEXT, HUGE],
    ['POST', 'ROUTE_NOT_FOUND', '/v1/nothing', TEXT, '{'],
    ['PUT', 'METHOD_NOT_ALLOWED', '/v1/pets?x=1', TEXT, HUGE],
    ['POST', 'METHOD_NOT_ALLOWED', '/v1/pets/x', TEXT, '{'],
    ['POST', 'UNSUPPORTED_MEDIA_TYPE', '/v1/pets?x=1', TEXT, HUGE],
    ['POST', 'UNSUPPORTED_MEDIA_TYPE', '/v1/pets?x=1', TEXT, '{'],
    ['POST', 'UNSUPPORTED_MEDIA_TYPE', '/v1/pets?x=1', ZIP, HUGE],
    ['POST', 'PAYLOAD_TOO_LARGE', '/v1/pets?x=1', JSON_TYPE, HUGE],
    ['POST', 'INVALID_ARGUMENT', '/v1/pets?x=1', JSON_TYPE, '{}'],
    ['POST', 'MALFORMED_JSON', '/v1/pets', JSON_TYPE, '{'],
    ['GET', 'INVALID_ARGUMENT', '/v1/pets?cursor=x&limit=0', {}, undefined],
    ['GET', 'INVALID_CURSOR', '/v1/pets?cursor=x', {}, undefined],
  ])('%s: %s', async (method, code, path, headers, body) => {
    await using api = await startApi();
    const answer = await api.request(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(JSON.parse(answer.body)).toMatchObject({ code });
  });

  test('after the sunset', async () => {
    await using api = await startApi({ now: () => new Date('2031-01-01T00:00:00Z') });
    const codes = [];
    for (const [method, path, headers] of [
      ['GET', '/v1/pets/x?y', ANONYMOUS],
      ['POST', '/v1/pets/x?y', {}],
      ['GET', '/v1/pets/x?y', {}],
    ] as const) {
      const { body } = await api.request(method, path, { headers });
      codes.push((JSON.parse(body) as { code: string }).code);
    }
    expect(codes).toStrictEqual(['UNAUTHENTICATED', 'METHOD_NOT_ALLOWED', 'GONE']);
  });
});
