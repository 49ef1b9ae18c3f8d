import { expect, test } from 'vitest';
import { InMemoryTokenVerifier, toKnownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { CREATED, problem, REX, success, brief } from '../../support/answer.ts';
import { KEY, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

const REPLAYED = success(201, REX, { location: '/v1/pets/1', 'idempotent-replayed': 'true' });

test('requests with one Idempotency-Key and an equal body, in any JSON form, add one pet, and each repeated answer is marked', async () => {
  await using api = await startApi();
  const post = async (body: string) => brief(await api.post(body, { 'idempotency-key': 'a' }));
  expect(await post(petBody())).toStrictEqual(CREATED);
  const equalBody = petBody({ status: '"available"', categoryId: '7.0', age: '3' });
  for (const body of [petBody(), '{"categoryId":7,"name":"Rex"}', equalBody]) {
    expect(await post(body)).toStrictEqual(REPLAYED);
  }
  expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
});

test('two API keys may use one Idempotency-Key for different requests, unless one of the keys replaces the other', async () => {
  const tokens = new InMemoryTokenVerifier([
    toKnownKey({ label: 'tests', token: KEY }),
    toKnownKey({ label: 'others', token: 'another-key' }),
    toKnownKey({ label: 'rotated', token: 'a-new-key', originId: 'tests' }),
  ]);
  await using api = await startApi({ tokens });
  const postAs = async (token: string) =>
    brief(await api.post(petBody(), { 'idempotency-key': 'a', authorization: `Bearer ${token}` }));
  expect(await postAs(KEY)).toStrictEqual(CREATED);
  expect(JSON.parse((await postAs('another-key')).body)).toMatchObject({ id: 2 });
  expect(await postAs('a-new-key')).toStrictEqual(REPLAYED);
});

// All forms of the header are tested in contract/idempotency.properties.test.ts.
test('an Idempotency-Key in quotes is the same key as the text without quotes and escapes', async () => {
  await using api = await startApi();
  expect(brief(await api.post(petBody(), { 'idempotency-key': '"a\\\\b"' }))).toStrictEqual(CREATED);
  expect(brief(await api.post(petBody(), { 'idempotency-key': 'a\\b' }))).toStrictEqual(REPLAYED);
});

test('an Idempotency-Key is refused if it is malformed or repeated', async () => {
  await using api = await startApi();
  const message = 'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or in double quotes';
  const expected = problem(400, 'INVALID_IDEMPOTENCY_KEY', message);
  for (const key of ['', 'a b', ['a', 'a']])
    expect(brief(await api.post(petBody(), { 'idempotency-key': key }))).toStrictEqual(expected);
  expect((await api.get('/v1/pets')).body).toBe('[]');
});
