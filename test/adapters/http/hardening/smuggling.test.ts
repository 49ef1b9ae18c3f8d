import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { CREATED, OK, problem, REX, success, UNAUTHENTICATED, whole } from '../../../support/answer.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { runService } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { BODY, CHUNKED, HEX, LENGTH, NOT_HTTP, SMUGGLED, TE } from './smuggled.ts';
import { post } from '../raw-requests.ts';

const bad = (message: string) => problem(400, 'INVALID_ARGUMENT', message);
const NO_METHOD = bad('the request has no HTTP method that this service knows');
const NOT_ALLOWED = problem(405, 'METHOD_NOT_ALLOWED', 'this path allows GET, HEAD, OPTIONS', {
  allow: 'GET, HEAD, OPTIONS',
});

const LAST = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

/** The last request after a smuggled one. A service that is deceived answers 201 instead of this one's 401. */
const REFUSED_LAST = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

const pets = new InMemoryPetRepository();
let shared: Api;
beforeAll(async () => void (shared = await startApi({ pets })));
afterAll(() => shared.close());

/** Expects exactly these answers and the end of the connection, no pet, and no failure. */
async function expectExactly(bytes: string, answers: readonly object[]): Promise<void> {
  const got = await shared.raw(Buffer.from(bytes, 'latin1'));
  expect(got.map(whole)).toStrictEqual(answers);
  expect(got.at(-1)?.headers['connection']).toBe('close');
  expect([await pets.list({ limit: 1 }), shared.log.failures]).toStrictEqual([[], []]);
}

// Every server reads these in the same way: RFC 9112 allows them, or they change nothing.
describe('an odd request with one meaning is accepted, and the next one begins where it should', () => {
  const trailers = (lines: string) => `${HEX}\r\n${BODY}\r\n0\r\n${lines}\r\n`;

  test.each([
    ['a coding in odd case', post('tRANSFER-eNCODING: cHUNKED\r\n') + CHUNKED],
    ['a tab before the coding', post('Transfer-Encoding:\tchunked\r\n') + CHUNKED],
    ['no space before the coding', post('Transfer-Encoding:chunked\r\n') + CHUNKED],
    ['a space after the coding', post('Transfer-Encoding: chunked \r\n') + CHUNKED],
    ['a coding under another header name', post(`Transfer_Encoding: chunked\r\n${LENGTH}`) + BODY],
    ['a space after the length', post(`Content-Length: ${BODY.length} \r\n`) + BODY],
    ['a tab around the length', post(`Content-Length:\t${BODY.length}\t\r\n`) + BODY],
    ['a zero before the length', post(`Content-Length: 0${BODY.length}\r\n`) + BODY],
    ['empty lines before the request', `\r\n\r\n${post(LENGTH)}${BODY}`],
    ['zeros before the size', post(TE) + CHUNKED.replace(HEX, '0'.repeat(1000) + HEX)],
    ['zeros as the last size', post(TE) + CHUNKED.replace('\r\n0\r\n', '\r\n0000\r\n')],
    ['extensions', post(TE) + CHUNKED.replace(HEX, `${HEX};a;b=c;d="e;f"`)],
    ['Host among the trailers', post(TE) + trailers('Host: evil.example\r\n')],
    ['Content-Type among the trailers', post(TE) + trailers('Content-Type: text/plain\r\n')],
  ])('%s', async (_, bytes) => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(Buffer.from(bytes, 'latin1'));
    expect(whole(await connection.answer())).toStrictEqual(CREATED);
    await connection.send(LAST);
    expect(whole(await connection.answer())).toStrictEqual(OK);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
  });

  test('an API key among the trailers is not used', async () => {
    const bytes = post(TE).replace(/Authorization.*\r\n/, '') + trailers(`Authorization: Bearer ${KEY}\r\n`);
    await expectExactly(bytes + LAST, [UNAUTHENTICATED, OK]);
  });

  test('a request id among the trailers is not used', async () => {
    await using api = await startApi();
    const [answer] = await api.raw(post(TE) + trailers('X-Request-Id: mine\r\n') + LAST);
    expect(answer?.headers['x-request-id']).not.toBe('mine');
  });
});

describe('a request in the body of another one is not processed', () => {
  const SIZE = SMUGGLED.length;
  const CHUNK = `${SIZE.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;

  test.each([
    ['GET', `GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${SIZE}\r\n\r\n${SMUGGLED}`, OK],
    ['GET, chunked', `GET /livez HTTP/1.1\r\nHost: x\r\n${TE}\r\n${CHUNK}`, OK],
    [
      'DELETE',
      `DELETE /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${SIZE}\r\n\r\n${SMUGGLED}`,
      NOT_ALLOWED,
    ],
    [
      'a POST without a key',
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: ${SIZE}\r\n\r\n${SMUGGLED}`,
      UNAUTHENTICATED,
    ],
    [
      'a POST without a key, chunked',
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${TE}\r\n${CHUNK}`,
      UNAUTHENTICATED,
    ],
    [
      'a POST that is not JSON',
      post(`Content-Length: ${SIZE}\r\n`) + SMUGGLED,
      problem(400, 'MALFORMED_JSON', 'the body is not JSON: see line 1, column 1'),
    ],
  ])('%s', async (_, bytes, expected) => {
    await expectExactly(bytes + REFUSED_LAST, [expected, UNAUTHENTICATED]);
  });

  test('HEAD', async () => {
    const head = `HEAD /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${SIZE}\r\n\r\n${SMUGGLED}`;
    await expectExactly(head + REFUSED_LAST, [success(200, ''), UNAUTHENTICATED]);
  });

  test('a POST without a key that waits for "100 Continue"', async () => {
    await using api = await startApi();
    const answers = await api.raw(
      'POST /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n' +
        `Content-Length: ${SIZE}\r\n\r\n${SMUGGLED}${REFUSED_LAST}`,
    );
    // The last one: the client may send the body or not.
    expect(answers.map(({ status }) => status)).toStrictEqual([401]);
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });

  test('HTTP/1.0 gets no "100 Continue": RFC 9110, section 10.1.1', async () => {
    await using api = await startApi();
    const answers = await api.raw(
      `${post(`Expect: 100-continue\r\n${LENGTH}`).replace('HTTP/1.1', 'HTTP/1.0')}${BODY}`,
    );
    expect(answers.map(whole)).toStrictEqual([CREATED]);
  });
});

describe('nothing after the last request of a connection is processed', () => {
  test.each([
    ['"Connection: close"', LAST, OK],
    ['HTTP/1.0', 'GET /livez HTTP/1.0\r\n\r\n', OK],
    ['CONNECT', 'CONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n', NOT_ALLOWED],
    ['CONNECT with a length', 'CONNECT /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n', NOT_ALLOWED],
    ['CONNECT with chunks', `CONNECT /livez HTTP/1.1\r\nHost: x\r\n${TE}\r\n`, NOT_ALLOWED],
    [
      'CONNECT to elsewhere',
      'CONNECT petstore.example:443 HTTP/1.1\r\nHost: petstore.example:443\r\n\r\n',
      bad('the request target is not a URL'),
    ],
    ['HTTP/1.0, and CONNECT', 'GET /livez HTTP/1.0\r\n\r\nCONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n', OK],
    ['rubbish', 'rubbish\r\n\r\n', NO_METHOD],
  ])('%s', async (_, bytes, expected) => {
    await expectExactly(bytes + SMUGGLED, [expected]);
  });
});

test('--insecure-http-parser changes nothing', async () => {
  const service = runService({ NODE_OPTIONS: '--insecure-http-parser', API_KEYS: KEY });
  const connection = await RawConnection.open(Number(new URL(await service.url()).port));
  await connection.send(post(`${LENGTH}${TE}`) + CHUNKED + SMUGGLED);
  expect(whole(await connection.answer())).toStrictEqual(NOT_HTTP);
  await connection.closed();
  connection.close();
});
