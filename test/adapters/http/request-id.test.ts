import { expect, test } from 'vitest';
import { startApi } from '../../support/http.ts';

const MADE = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test('a valid X-Request-Id is kept', async () => {
  await using api = await startApi();
  for (const [at, id] of ['a', '0', 'A_b-c.9', 'x'.repeat(64), '..', '__proto__'].entries()) {
    const { headers } = await api.get('/livez', { 'x-request-id': id });
    expect(headers['x-request-id']).toBe(id);
    expect(await api.log.record(at)).toMatchObject({ requestId: id });
  }
});

test('an invalid or repeated X-Request-Id is replaced by a new one', async () => {
  await using api = await startApi();
  const others = ['', ' ', 'two words', 'x'.repeat(65), 'a/b', 'a"b', 'Zoé'];
  const made = new Set<unknown>();
  const all = [undefined, undefined, ...others, ['a', 'b']];
  for (const [at, id] of all.entries()) {
    const { headers } = await api.get('/livez', { 'x-request-id': id });
    expect(headers['x-request-id']).toMatch(MADE);
    expect(await api.log.record(at)).toMatchObject({ requestId: headers['x-request-id'] });
    made.add(headers['x-request-id']);
  }
  expect(made.size).toBe(all.length);
});
