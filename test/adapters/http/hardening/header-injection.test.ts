import { describe, expect, test } from 'vitest';
import { invalid, brief } from '../../../support/answer.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { apiWithPets } from '../api-with-pets.ts';

const PUBLIC_URL = 'https://petstore.example/api';

/** Sends a request with the API key, in Latin-1, on a connection that the service closes after its answer. */
function send(api: Api, requestLine: string, headers = 'Host: x\r\n', body = '') {
  const head = `${requestLine} HTTP/1.1\r\n${headers}Authorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`;
  return api.raw(Buffer.from(head + body, 'latin1'));
}

const apiWithTwoPets = () => apiWithPets([{}, {}], { publicUrl: PUBLIC_URL });

// The test client also rejects an answer in which a header is repeated or invalid.
test.each([
  ['limit=%31', 'limit=1'],
  ['limit=1&status=%61vailable', 'limit=1&status=available'],
  ['l%69mit=1&&', 'limit=1'],
  ['limit=1&cursor=v1%2E0000000000000000', 'limit=1'],
])('Link contains the parsed parameters of the query ?%s, and not its text', async (query, parsedQuery) => {
  await using api = await apiWithTwoPets();
  const answers = await send(api, `GET /v1/pets?${query}`);
  expect(answers.map(({ status, headers }) => [status, headers['link']])).toStrictEqual([
    [200, `<${PUBLIC_URL}/v1/pets?${parsedQuery}&cursor=v1.0000000000000001>; rel="next"`],
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

describe('the message about unknown query parameters', () => {
  const message = (name: string) => `${name} is not a parameter of this operation`;

  test.each([
    ['quotes', '%22%7D,%22status%22:200', '"},"status":200'],
    ['line ends', 'a%0d%0ab', 'a\r\nb'],
    ['NUL', '%00', '\0'],
    ['invalid UTF-8', '%ff%C0%AF%ED%A0%80', '\ufffd'.repeat(6)],
    ['no character', '=1', ''],
  ])('contains a name with %s as escaped JSON', async (_, name, shownName) => {
    await using api = await startApi();
    expect((await send(api, `GET /v1/pets?${name}`)).map(brief)).toStrictEqual([invalid(message(shownName))]);
  });

  test('names at most ten parameters', async () => {
    await using api = await startApi();
    const names = Array.from({ length: 12 }, (_, i) => `p${i}`);
    const ten = names.slice(0, 10).map(message).join('; ');
    expect(brief(await api.get(`/v1/pets?${names.slice(0, 10).join('&')}`))).toStrictEqual(invalid(ten));
    expect(brief(await api.get(`/v1/pets?${names.join('&')}`))).toStrictEqual(
      invalid(`${ten}; nor are 2 more`),
    );
  });
});
