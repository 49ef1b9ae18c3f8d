import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { CREATED, EMPTY_PAGE, problem, brief } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { timeRatio } from '../../support/time-ratio.ts';

const WRONG_TYPE = problem(
  415,
  'UNSUPPORTED_MEDIA_TYPE',
  'Content-Type must be application/json, with no charset but utf-8',
);
const WRONG_CODING = problem(415, 'UNSUPPORTED_MEDIA_TYPE', 'Content-Encoding must be identity or absent');

test.each([
  ['content-type', 'Application/JSON', petBody()],
  ['content-type', 'application/json;charset=utf-8 ; profile=pets', petBody()],
  ['content-type', 'application/json ; charset="utf-8"', petBody()],
  ['content-type', 'application/json; profile="a;charset=latin1"', petBody()],
  ['content-type', 'application/json;', petBody()],
  ['content-encoding', 'identity', petBody()],
  ['content-encoding', '', petBody()],
  ['content-encoding', 'Identity', petBody()],
])('a body with the header %s: %s is accepted', async (name, value, body) => {
  await using api = await startApi();
  expect(brief(await api.post(body, { [name]: value }))).toStrictEqual(CREATED);
});

test('createPet answers 415 if the Content-Type is not JSON in UTF-8, and creates nothing', async () => {
  await using api = await startApi();
  const types = ['text/json', 'application/jsonx', 'application/problem+json', 'x; application/json'];
  const charsets = ['iso-8859-1', 'utf-8; charset=latin1', 'utf-8;charset=latin1', 'utf-8x', ''];
  const parameters = charsets.map((charset) => `application/json; charset=${charset}`);
  for (const type of [undefined, '', ...types, 'application/json, text/plain', ...parameters]) {
    expect(brief(await api.post(petBody(), { 'content-type': type })), type).toStrictEqual(WRONG_TYPE);
  }
  expect(brief(await api.request('POST', '/v1/pets'))).toStrictEqual(WRONG_TYPE);
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

test('a long Content-Type is checked in linear time', async () => {
  await using api = await startApi();
  const type = `application/json${'; '.repeat(100)}${' '.repeat(15_000)}x`;
  expect(brief(await api.post(petBody(), { 'content-type': type }))).toStrictEqual(WRONG_TYPE);
  const harmlessHeader = { 'content-type': 'x'.repeat(type.length) };
  expect(
    await timeRatio(
      () => api.post(petBody(), { 'content-type': type }),
      () => api.post(petBody(), harmlessHeader),
    ),
  ).toBeLessThan(30);
});

test('the service ignores Accept, Accept-Encoding and Accept-Charset when it lists pets', async () => {
  await using api = await startApi();
  const accept = 'application/xml;q=1, application/json;q=0';
  const headers = { accept, 'accept-encoding': 'gzip, br', 'accept-charset': 'utf-16' };
  expect(brief(await api.get('/v1/pets', headers))).toStrictEqual(EMPTY_PAGE);
});

test('createPet answers 415 if the Content-Encoding is not identity, and creates nothing', async () => {
  await using api = await startApi();
  for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'identity, identity', '__proto__']) {
    const answer = await api.post(gzipSync(petBody()), { 'content-encoding': coding });
    expect(brief(answer), coding).toStrictEqual(WRONG_CODING);
  }
  expect((await api.get('/v1/pets')).body).toBe('[]');
});
