import { expect, test } from 'vitest';
import { startApi } from '../../support/http.ts';

const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test('an answer and its log record have the valid X-Request-Id of the request', async () => {
  await using api = await startApi();
  for (const [index, id] of ['a', '0', 'A_b-c.9', 'x'.repeat(64), '..', '__proto__'].entries()) {
    const { headers } = await api.get('/livez', { 'x-request-id': id });
    expect(headers['x-request-id']).toBe(id);
    expect(await api.log.record(index)).toMatchObject({ requestId: id });
  }
});

test('a missing, invalid or repeated X-Request-Id is replaced by a new id', async () => {
  await using api = await startApi();
  const invalidIds = ['', ' ', 'two words', 'x'.repeat(65), 'a/b', 'a"b', 'Zoé'];
  const newIds = new Set<unknown>();
  const givenIds = [undefined, undefined, ...invalidIds, ['a', 'b']];
  for (const [index, id] of givenIds.entries()) {
    const { headers } = await api.get('/livez', { 'x-request-id': id });
    expect(headers['x-request-id']).toMatch(UUID_V4);
    expect(await api.log.record(index)).toMatchObject({ requestId: headers['x-request-id'] });
    newIds.add(headers['x-request-id']);
  }
  expect(newIds.size).toBe(givenIds.length);
});
