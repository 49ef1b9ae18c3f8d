import { describe, expect, test } from 'vitest';
import {
  CREATED,
  NO_METHOD,
  OK,
  problem,
  REX,
  success,
  UNAUTHENTICATED,
  whole,
} from '../../../support/answer.ts';
import { KEY, startApi } from '../../../support/http.ts';
import { BODY, CHUNKED, HEX, LENGTH, sharedService, SMUGGLED, TE } from './smuggled.ts';
import { LAST, post } from '../raw-requests.ts';

/** The last request after a smuggled one. A service that is deceived answers 201 instead of this one's 401. */
const REFUSED_LAST = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

const expectExactly = sharedService();

// Every server reads these in the same way: RFC 9112 allows them, or they change nothing.
describe('an unusual request with one meaning is accepted, and the next request begins at the right byte', () => {
  const trailers = (lines: string) => `${HEX}\r\n${BODY}\r\n0\r\n${lines}\r\n`;

  test.each([
    ['a coding in odd case', post('tRANSFER-eNCODING: cHUNKED\r\n') + CHUNKED],
    ['a tab before the coding', post('Transfer-Encoding:\tchunked\r\n') + CHUNKED],
    ['a space after the coding', post('Transfer-Encoding: chunked \r\n') + CHUNKED],
    ['a coding under another header name', post(`Transfer_Encoding: chunked\r\n${LENGTH}`) + BODY],
    ['a tab around the length', post(`Content-Length:\t${BODY.length}\t\r\n`) + BODY],
    ['a zero before the length', post(`Content-Length: 0${BODY.length}\r\n`) + BODY],
    ['empty lines before the request', `\r\n\r\n${post(LENGTH)}${BODY}`],
    ['zeros before the size', post(TE) + CHUNKED.replace(HEX, '0'.repeat(1000) + HEX)],
    ['extensions', post(TE) + CHUNKED.replace(HEX, `${HEX};a;b=c;d="e;f"`)],
    ['Host among the trailers', post(TE) + trailers('Host: evil.example\r\n')],
  ])('%s', async (_, bytes) => {
    await using api = await startApi();
    const connection = await api.connect(Buffer.from(bytes, 'latin1'));
    expect(whole(await connection.answer())).toStrictEqual(CREATED);
    await connection.send(LAST);
    expect(whole(await connection.answer())).toStrictEqual(OK);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
  });

  test('with an API key among the trailers, which is not used', async () => {
    const bytes = post(TE).replace(/Authorization.*\r\n/, '') + trailers(`Authorization: Bearer ${KEY}\r\n`);
    await expectExactly(bytes + LAST, [UNAUTHENTICATED, OK]);
  });
});

describe('a request in the body of another request is not processed', () => {
  const SIZE = SMUGGLED.length;
  const CHUNK = `${SIZE.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;

  const inBodyOf = (line: string) =>
    `${line} HTTP/1.1\r\nHost: x\r\nContent-Length: ${SIZE}\r\n\r\n${SMUGGLED}`;
  const NOT_JSON = problem(400, 'MALFORMED_JSON', 'the body is not JSON: see line 1, column 1');

  test.each([
    ['GET', inBodyOf('GET /livez'), OK],
    ['GET, chunked', `GET /livez HTTP/1.1\r\nHost: x\r\n${TE}\r\n${CHUNK}`, OK],
    ['HEAD', inBodyOf('HEAD /livez'), success(200, '')],
    ['a POST without a key', inBodyOf('POST /v1/pets'), UNAUTHENTICATED],
    ['a POST that is not JSON', post(`Content-Length: ${SIZE}\r\n`) + SMUGGLED, NOT_JSON],
  ])('%s', async (_, bytes, expected) => {
    await expectExactly(bytes + REFUSED_LAST, [expected, UNAUTHENTICATED]);
  });

  test('HTTP/1.0, which receives no "100 Continue" (RFC 9110, section 10.1.1)', async () => {
    await using api = await startApi();
    const answers = await api.raw(
      `${post(`Expect: 100-continue\r\n${LENGTH}`).replace('HTTP/1.1', 'HTTP/1.0')}${BODY}`,
    );
    expect(answers.map(whole)).toStrictEqual([CREATED]);
  });
});

test.each([
  ['"Connection: close"', LAST, OK],
  ['HTTP/1.0', 'GET /livez HTTP/1.0\r\n\r\n', OK],
  ['rubbish', 'rubbish\r\n\r\n', NO_METHOD],
])('nothing after the last request of a connection is processed: %s', async (_, bytes, expected) => {
  await expectExactly(bytes + SMUGGLED, [expected]);
});

test('nothing after CONNECT is processed', async () => {
  await using api = await startApi();
  expect(await api.raw(`CONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n${SMUGGLED}`)).toStrictEqual([]);
  expect((await api.get('/v1/pets')).body).toBe('[]');
});
