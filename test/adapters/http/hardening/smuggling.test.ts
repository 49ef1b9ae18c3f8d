import { describe, expect, test } from 'vitest';
import {
  CREATED,
  NO_METHOD,
  OK,
  problem,
  REX,
  success,
  UNAUTHENTICATED,
  brief,
} from '../../../support/answer.ts';
import { KEY, startApi } from '../../../support/http.ts';
import { BODY, CHUNKED_BODY, HEX_SIZE, answersOfService, SMUGGLED, HEADER } from './smuggled.ts';
import { CLOSING_REQUEST, post } from '../raw-requests.ts';

/**
 * A request without an API key. A test knows its answer (401) from that of the smuggled request, which would be 201.
 */
const KEYLESS_REQUEST = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

const expectAnswers = answersOfService();

// A proxy and this service read these requests in the same way, so no request can be hidden in them.
describe('an unusual but unambiguous request', () => {
  const trailers = (lines: string) => `${HEX_SIZE}\r\n${BODY}\r\n0\r\n${lines}\r\n`;

  test.each([
    ['Transfer-Encoding in mixed case', post('tRANSFER-eNCODING: cHUNKED\r\n') + CHUNKED_BODY],
    ['a tab before "chunked"', post('Transfer-Encoding:\tchunked\r\n') + CHUNKED_BODY],
    ['a space after "chunked"', post('Transfer-Encoding: chunked \r\n') + CHUNKED_BODY],
    ['the header Transfer_Encoding', post(`Transfer_Encoding: chunked\r\n${HEADER.sized}`) + BODY],
    ['a tab before and after its Content-Length', post(`Content-Length:\t${BODY.length}\t\r\n`) + BODY],
    ['a zero before its Content-Length', post(`Content-Length: 0${BODY.length}\r\n`) + BODY],
    ['empty lines before its first line', `\r\n\r\n${post(HEADER.sized)}${BODY}`],
    [
      'zeros before the size of a chunk',
      post(HEADER.chunked) + CHUNKED_BODY.replace(HEX_SIZE, '0'.repeat(1000) + HEX_SIZE),
    ],
    ['chunk extensions', post(HEADER.chunked) + CHUNKED_BODY.replace(HEX_SIZE, `${HEX_SIZE};a;b=c;d="e;f"`)],
    ['Host among the trailers', post(HEADER.chunked) + trailers('Host: evil.example\r\n')],
  ])('is accepted, and the next request begins at the right byte, if it has %s', async (_, bytes) => {
    await using api = await startApi();
    const connection = await api.connect(Buffer.from(bytes, 'latin1'));
    expect(brief(await connection.answer())).toStrictEqual(CREATED);
    await connection.send(CLOSING_REQUEST);
    expect(brief(await connection.answer())).toStrictEqual(OK);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
  });

  test('is answered with 401, and the next request begins at the right byte, if its API key is among the trailers', async () => {
    const bytes =
      post(HEADER.chunked).replace(/Authorization.*\r\n/, '') + trailers(`Authorization: Bearer ${KEY}\r\n`);
    await expectAnswers(bytes + CLOSING_REQUEST, [UNAUTHENTICATED, OK]);
  });
});

describe('a request that is the body of another request is not processed', () => {
  const SIZE = SMUGGLED.length;
  /** The smuggled request in a chunk. */
  const CHUNK = `${SIZE.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;

  const inBodyOf = (line: string) =>
    `${line} HTTP/1.1\r\nHost: x\r\nContent-Length: ${SIZE}\r\n\r\n${SMUGGLED}`;
  const NOT_JSON = problem(400, 'MALFORMED_JSON', 'the body is not JSON: see line 1, column 1');

  test.each([
    ['a GET', inBodyOf('GET /livez'), OK],
    ['a GET with a chunked body', `GET /livez HTTP/1.1\r\nHost: x\r\n${HEADER.chunked}\r\n${CHUNK}`, OK],
    ['a HEAD', inBodyOf('HEAD /livez'), success(200, '')],
    ['a POST without a key', inBodyOf('POST /v1/pets'), UNAUTHENTICATED],
    ['a POST whose body is not JSON', post(`Content-Length: ${SIZE}\r\n`) + SMUGGLED, NOT_JSON],
  ])('if the other request is %s', async (_, bytes, expected) => {
    await expectAnswers(bytes + KEYLESS_REQUEST, [expected, UNAUTHENTICATED]);
  });
});

test('a request in HTTP/1.0 receives no "100 Continue" (RFC 9110, section 10.1.1)', async () => {
  await using api = await startApi();
  const answers = await api.raw(
    `${post(`Expect: 100-continue\r\n${HEADER.sized}`).replace('HTTP/1.1', 'HTTP/1.0')}${BODY}`,
  );
  expect(answers.map(brief)).toStrictEqual([CREATED]);
});

test.each([
  ['a request with "Connection: close"', CLOSING_REQUEST, OK],
  ['a request in HTTP/1.0', 'GET /livez HTTP/1.0\r\n\r\n', OK],
  ['bytes that are no request', 'rubbish\r\n\r\n', NO_METHOD],
])('the service processes no bytes after the answer to %s', async (_, bytes, expected) => {
  await expectAnswers(bytes + SMUGGLED, [expected]);
});

test('the service processes no bytes after CONNECT, and sends no answer', async () => {
  await using api = await startApi();
  expect(await api.raw(`CONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n${SMUGGLED}`)).toStrictEqual([]);
  expect((await api.get('/v1/pets')).body).toBe('[]');
});
