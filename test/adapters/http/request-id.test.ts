import { describe, expect, test } from 'vitest';
import { startApi } from '../../support/http.ts';

const MADE = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('X-Request-Id', () => {
  test.each(['a', '0', 'A_b-c.9', 'x'.repeat(64), '..', '__proto__'])('%s is kept', async (id) => {
    await using api = await startApi();
    const { headers } = await api.get('/livez', { 'x-request-id': id });
    expect(headers['x-request-id']).toBe(id);
    expect(await api.log.record(0)).toMatchObject({ requestId: id });
  });

  test.each([
    undefined,
    '',
    ' ',
    'two words',
    'x'.repeat(65),
    'a/b',
    'a,b',
    'a"b',
    'a\tb',
    '<script>',
    'Zoé',
    '%41',
  ])('%j is replaced', async (id) => {
    await using api = await startApi();
    const { headers } = await api.get('/livez', { 'x-request-id': id });
    expect(headers['x-request-id']).toMatch(MADE);
    expect(await api.log.record(0)).toMatchObject({ requestId: headers['x-request-id'] });
  });

  test('more than one are replaced', async () => {
    await using api = await startApi();
    const { headers } = await api.get('/livez', { 'x-request-id': ['a', 'b'] });
    expect(headers['x-request-id']).toMatch(MADE);
  });

  test.each([
    ['GET', 200, '/v1/pets', {}],
    ['OPTIONS', 204, '/v1/pets', {}],
    ['GET', 400, '/v1/pets?x', {}],
    ['GET', 401, '/v1/pets', { authorization: undefined }],
    ['GET', 404, '/nothing', {}],
    ['PUT', 405, '/v1/pets', {}],
    ['GET', 414, `/v1/pets?${'x'.repeat(8192)}`, {}],
    ['POST', 415, '/v1/pets', {}],
  ])('on the answer to %s %i, too', async (method, status, path, headers) => {
    await using api = await startApi();
    const answer = await api.request(method, path, { headers: { 'x-request-id': 'mine', ...headers } });
    expect([answer.status, answer.headers['x-request-id']]).toStrictEqual([status, 'mine']);
  });

  test('a new one each time', async () => {
    await using api = await startApi();
    const ids = new Set<unknown>();
    for (const _ of [1, 2, 3]) ids.add((await api.get('/livez')).headers['x-request-id']);
    expect(ids.size).toBe(3);
  });
});
