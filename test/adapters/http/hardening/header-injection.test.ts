import { describe, expect, test } from 'vitest';
import { invalid, whole } from '../../../support/answer.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { apiWithPets } from '../api-with-pets.ts';

const PUBLIC = 'https://petstore.example/api';

/** Sends a request with the key, encoded as Latin-1. The connection is closed after the answer. */
function send(api: Api, line: string, headers = 'Host: x\r\n', body = '') {
  const head = `${line} HTTP/1.1\r\n${headers}Authorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`;
  return api.raw(Buffer.from(head + body, 'latin1'));
}

const apiWithTwoPets = () => apiWithPets([{}, {}], { publicUrl: PUBLIC });

// The client of these tests rejects an answer that repeats a header or has an invalid one.
test.each([
  ['limit=%31', 'limit=1'],
  ['limit=1&status=%61vailable', 'limit=1&status=available'],
  ['l%69mit=1&&', 'limit=1'],
  ['limit=1&cursor=v1%2E0000000000000000', 'limit=1'],
])('Link contains the parsed query, never its text: ?%s', async (query, meaning) => {
  await using api = await apiWithTwoPets();
  const answers = await send(api, `GET /v1/pets?${query}`);
  expect(answers.map(({ status, headers }) => [status, headers['link']])).toStrictEqual([
    [200, `<${PUBLIC}/v1/pets?${meaning}&cursor=v1.0000000000000001>; rel="next"`],
  ]);
});

test('no answer contains the Idempotency-Key', async () => {
  await using api = await startApi();
  const created = await api.post(petBody(), { 'idempotency-key': 'my-secret-retry' });
  const replayed = await api.post(petBody(), { 'idempotency-key': 'my-secret-retry' });
  const reused = await api.post(petBody({ categoryId: '8' }), { 'idempotency-key': 'my-secret-retry' });
  const malformed = await api.post(petBody(), { 'idempotency-key': 'my-secret-retry "' });
  const answers = [created, replayed, reused, malformed];
  expect(answers.map(({ status }) => status)).toStrictEqual([201, 201, 422, 400]);
  expect(JSON.stringify(answers)).not.toContain('my-secret-retry');
});

describe('the message about an unknown parameter', () => {
  const unknown = (name: string) => `${name} is not a parameter of this operation`;

  test.each([
    ['quotes', '%22%7D,%22status%22:200', '"},"status":200'],
    ['line ends', 'a%0d%0ab', 'a\r\nb'],
    ['NUL', '%00', '\0'],
    ['invalid UTF-8 in a name', '%ff%C0%AF%ED%A0%80', '\ufffd'.repeat(6)],
    ['an empty name', '=1', ''],
  ])('shows %s safely', async (_, name, shown) => {
    await using api = await startApi();
    expect((await send(api, `GET /v1/pets?${name}`)).map(whole)).toStrictEqual([invalid(unknown(shown))]);
  });

  test('names at most ten parameters', async () => {
    await using api = await startApi();
    const names = Array.from({ length: 12 }, (_, i) => `p${i}`);
    const ten = names.slice(0, 10).map(unknown).join('; ');
    expect(whole(await api.get(`/v1/pets?${names.slice(0, 10).join('&')}`))).toStrictEqual(invalid(ten));
    expect(whole(await api.get(`/v1/pets?${names.join('&')}`))).toStrictEqual(
      invalid(`${ten}; nor are 2 more`),
    );
  });
});
