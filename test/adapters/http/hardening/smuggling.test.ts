import { describe, expect, test } from 'vitest';
import { problem, success, whole } from '../../../support/answer.ts';
import { KEY, startApi } from '../../../support/http.ts';
import { HeldPetRepository, petBody } from '../../../support/pets.ts';
import { runService } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';

const bad = (message: string) => problem(400, 'INVALID_ARGUMENT', message);
const NOT_HTTP = bad('the request is not valid HTTP/1.1');
const NO_METHOD = bad('the request has no HTTP method that this service knows');
const NOT_ALLOWED = problem(405, 'METHOD_NOT_ALLOWED', 'this path allows GET, HEAD, OPTIONS', {
  allow: 'GET, HEAD, OPTIONS',
});
const UNAUTHENTICATED = problem(
  401,
  'UNAUTHENTICATED',
  'an API key is required, as "Authorization: Bearer <API_KEY>"',
  { 'www-authenticate': 'Bearer realm="petstore"' },
);
const OK = success(200, '{"status":"ok"}');
const REX = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
const CREATED = success(201, REX, { location: '/v1/pets/1' });

const BODY = petBody();
const L = BODY.length;
const HEX = L.toString(16);
const CHUNKED = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`;
const TE = 'Transfer-Encoding: chunked\r\n';

const post = (headers: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
  `Content-Type: application/json\r\n${headers}\r\n`;

/** Bytes that an attacker wants the service to treat as a request. */
const SMUGGLED = `${post(`Content-Length: ${petBody({ name: '"Eve"' }).length}\r\n`)}${petBody({ name: '"Eve"' })}`;

const LAST = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

/** The last request after a smuggled one. A service that is deceived answers 201 instead of this one's 401. */
const REFUSED_LAST = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

/** Expects exactly these answers and the end of the connection, no pet, and a service that still answers. */
async function expectExactly(bytes: string, answers: readonly object[]): Promise<void> {
  await using api = await startApi();
  const got = await api.raw(Buffer.from(bytes, 'latin1'));
  expect(got.map(whole)).toStrictEqual(answers);
  expect(got.at(-1)?.headers['connection']).toBe('close');
  expect(whole(await api.get('/v1/pets'))).toStrictEqual(success(200, '[]'));
  expect(api.log.failures).toStrictEqual([]);
}

describe('an ambiguous length is refused, and nothing after it is a request', () => {
  test.each([
    ['a length and chunks', `Content-Length: ${L}\r\n${TE}`],
    ['chunks and a length', `${TE}Content-Length: ${L}\r\n`],
    ['chunks and a length, in odd cases', `tRANSFER-eNCODING: cHUNKED\r\ncontent-LENGTH: ${L}\r\n`],
    ['chunks and a length of 0', `${TE}Content-Length: 0\r\n`],
    ['a length and an empty coding', `Content-Length: ${L}\r\nTransfer-Encoding:\r\n`],
    ['a length and identity', `Content-Length: ${L}\r\nTransfer-Encoding: identity\r\n`],
    ['a length and an unknown coding', `Content-Length: ${L}\r\nTransfer-Encoding: xchunked\r\n`],
    ['a coding in the next line', `Transfer-Encoding:\r\n chunked\r\n`],
    ['a folded coding', `Transfer-Encoding: identity,\r\n\tchunked\r\n`],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
    ['a tab before the colon', 'Transfer-Encoding\t: chunked\r\n'],
    ['a space before the name', ' Transfer-Encoding: chunked\r\n'],
    ['a NUL in the name', 'Transfer-Encoding\0: chunked\r\n'],
    ['a NUL after the coding', 'Transfer-Encoding: chunked\0\r\n'],
    ['a vertical tab after the coding', 'Transfer-Encoding: chunked\v\r\n'],
    ['a vertical tab before the coding', 'Transfer-Encoding: \vchunked\r\n'],
    ['a form feed after the coding', 'Transfer-Encoding: chunked\f\r\n'],
    ['a no-break space after the coding', 'Transfer-Encoding: chunked\xa0\r\n'],
    ['a tab after the coding', 'Transfer-Encoding: chunked\t\r\n'],
    ['xchunked', 'Transfer-Encoding: xchunked\r\n'],
    ['chunkedx', 'Transfer-Encoding: chunkedx\r\n'],
    ['"chunked"', 'Transfer-Encoding: "chunked"\r\n'],
    ['chunked;q=1', 'Transfer-Encoding: chunked;q=1\r\n'],
    ['identity', 'Transfer-Encoding: identity\r\n'],
    ['chunked, identity', 'Transfer-Encoding: chunked, identity\r\n'],
    ['identity, chunked', 'Transfer-Encoding: identity, chunked\r\n'],
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n'],
    [', chunked', 'Transfer-Encoding: , chunked\r\n'],
    ['chunked,', 'Transfer-Encoding: chunked,\r\n'],
    ['chunked, chunked', 'Transfer-Encoding: chunked, chunked\r\n'],
    ['chunked twice', TE + TE],
    ['identity, and chunked in a second header', `Transfer-Encoding: identity\r\n${TE}`],
    ['chunked, and identity in a second header', `${TE}Transfer-Encoding: identity\r\n`],
    ['chunked, hidden after a bare CR', 'X: y\rTransfer-Encoding: chunked\r\n'],
    ['chunked, hidden after a bare LF', 'X: y\nTransfer-Encoding: chunked\r\n'],
  ])('%s', async (_, headers) => {
    await expectExactly(post(headers) + CHUNKED + SMUGGLED, [NOT_HTTP]);
  });

  test.each([
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${L}\r\n`],
    ['two lengths, the other way round', `Content-Length: ${L}\r\nContent-Length: 0\r\n`],
    ['the same length twice', `Content-Length: ${L}\r\nContent-Length: ${L}\r\n`],
    ['the same length twice in one header', `Content-Length: ${L}, ${L}\r\n`],
    ['an empty length', 'Content-Length:\r\n'],
    ['an empty length and a length', `Content-Length: \r\nContent-Length: ${L}\r\n`],
    ['a plus', `Content-Length: +${L}\r\n`],
    ['a minus', `Content-Length: -${L}\r\n`],
    ['hexadecimal', `Content-Length: 0x${HEX}\r\n`],
    ['a fraction', `Content-Length: ${L}.0\r\n`],
    ['an exponent', 'Content-Length: 3e1\r\n'],
    ['a space inside', 'Content-Length: 2 9\r\n'],
    ['digits of Latin-1', 'Content-Length: \xb2\xb9\r\n'],
    ['a NUL', `Content-Length: ${L}\0\r\n`],
    ['a vertical tab', `Content-Length: ${L}\v\r\n`],
    ['2^64', `Content-Length: ${2n ** 64n}\r\n`],
    ['the length plus 2^64', `Content-Length: ${2n ** 64n + BigInt(L)}\r\n`],
    ['a space before the colon', `Content-Length : ${L}\r\n`],
    ['folded', `Content-Length:\r\n ${L}\r\n`],
    ['folded, with another digit', 'Content-Length: 2\r\n 9\r\n'],
  ])('%s', async (_, headers) => {
    await expectExactly(post(headers) + BODY + SMUGGLED, [NOT_HTTP]);
  });
});

describe('invalid lines are refused, and nothing after them is a request', () => {
  const LENGTH = `Content-Length: ${L}\r\n`;
  const good = post(LENGTH);

  test.each([
    ['bare LF', good.replaceAll('\r\n', '\n')],
    ['bare LF after the request line', good.replace('\r\n', '\n')],
    ['bare LF at the end of the headers', good.replace(/\r\n$/, '\n')],
    ['bare LF between two headers', post(`X: y\n${LENGTH}`)],
    ['bare CR', good.replaceAll('\r\n', '\r')],
    ['bare CR at the end of the headers', good.replace(/\r\n$/, '\r')],
    ['CR inside a value', post(`X: y\rz\r\n${LENGTH}`)],
    ['CR twice', post(`X: y\r\r\n${LENGTH}`)],
    ['a space before the first header', good.replace('Host', ' Host')],
    ['a space before a colon', post(`X : y\r\n${LENGTH}`)],
    ['a header without a colon', post(`X\r\n${LENGTH}`)],
    ['a header without a name', post(`: y\r\n${LENGTH}`)],
    ['a name that is not a token', post(`X(y): z\r\n${LENGTH}`)],
    ['a folded value', post(`X: y\r\n z\r\n${LENGTH}`)],
    ['an empty folded value', post(`X: y\r\n \r\n${LENGTH}`)],
    ['a NUL in a value', post(`X: y\0\r\n${LENGTH}`)],
    ['U+0001 in a value', post(`X: y\x01\r\n${LENGTH}`)],
    ['DEL in a value', post(`X: y\x7f\r\n${LENGTH}`)],
    ['a space after the version', good.replace('HTTP/1.1', 'HTTP/1.1 ')],
    ['a NUL in the target', good.replace('/v1/pets', '/v1/pets\0')],
    ['a tab in the target', good.replace('/v1/pets', '/v1/pets\t')],
    ['DEL in the target', good.replace('/v1/pets', '/v1/pets\x7f')],
    ['a byte of Latin-1 in the target', good.replace('/v1/pets', '/v1/pets\xe9')],
  ])('%s', async (_, head) => {
    await expectExactly(head + BODY + SMUGGLED, [NOT_HTTP]);
  });
});

describe('invalid chunks are refused, and nothing after them is a request', () => {
  test.each([
    ['the size plus 2^64', `1000000000000001d\r\n${BODY}\r\n0\r\n\r\n`],
    ['0x', `0x${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
    ['a minus', `-${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
    ['a plus', `+${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
    ['a letter that is not hexadecimal', `${HEX}g\r\n${BODY}\r\n0\r\n\r\n`],
    ['no size', `\r\n${BODY}\r\n0\r\n\r\n`],
    ['a space before the size', ` ${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
    ['a space after the size', `${HEX} \r\n${BODY}\r\n0\r\n\r\n`],
    ['a tab after the size', `${HEX}\t\r\n${BODY}\r\n0\r\n\r\n`],
    ['bare LF after the size', `${HEX}\n${BODY}\r\n0\r\n\r\n`],
    ['bare CR after the size', `${HEX}\r${BODY}\r\n0\r\n\r\n`],
    ['no line end after the data', `${HEX}\r\n${BODY}0\r\n\r\n`],
    ['bare LF after the data', `${HEX}\r\n${BODY}\n0\r\n\r\n`],
    ['bare LF after the last size', `${HEX}\r\n${BODY}\r\n0\n\r\n`],
    ['bare LF at the end', `${HEX}\r\n${BODY}\r\n0\r\n\n`],
    ['an extension without a name', `${HEX};\r\n${BODY}\r\n0\r\n\r\n`],
    ['bare LF in an extension', `${HEX};a\n${BODY}\r\n0\r\n\r\n`],
    ['bare CR in an extension', `${HEX};a\rb\r\n${BODY}\r\n0\r\n\r\n`],
    ['a line end in a quoted extension', `${HEX};a="\r\n"\r\n${BODY}\r\n0\r\n\r\n`],
    ['a NUL in an extension', `${HEX};a\0\r\n${BODY}\r\n0\r\n\r\n`],
    ['a length among the trailers', `${HEX}\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`],
    ['chunks among the trailers', `${HEX}\r\n${BODY}\r\n0\r\n${TE}\r\n`],
    ['a trailer that is not a header', `${HEX}\r\n${BODY}\r\n0\r\nX y: z\r\n\r\n`],
    ['a trailer with a bare LF', `${HEX}\r\n${BODY}\r\n0\r\nX: y\n\r\n`],
    ['a folded trailer', `${HEX}\r\n${BODY}\r\n0\r\nX: y\r\n z\r\n\r\n`],
  ])('%s', async (_, chunks) => {
    await expectExactly(post(TE) + chunks + SMUGGLED, [NOT_HTTP]);
  });

  test('invalid chunks of a request that was answered: the same', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(`POST /v1/pets HTTP/1.1\r\nHost: x\r\n${TE}\r\n`);
    expect(whole(await connection.answer())).toStrictEqual(UNAUTHENTICATED);
    await connection.send(`zz\r\n${SMUGGLED}`);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });
});

describe('other versions are refused, and nothing after them is a request', () => {
  const chunked = post(TE) + CHUNKED;

  test.each([
    ['HTTP/1.0 with chunks', chunked.replace('HTTP/1.1', 'HTTP/1.0')],
    [
      'HTTP/1.0 with chunks and keep-alive',
      `${post(`${TE}Connection: keep-alive\r\n`).replace('HTTP/1.1', 'HTTP/1.0')}${CHUNKED}`,
    ],
    ['HTTP/2.0', 'GET /livez HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['HTTP/2.0 with a body', `${post(`Content-Length: ${L}\r\n`).replace('HTTP/1.1', 'HTTP/2.0')}${BODY}`],
    ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', 'GET /livez\r\n\r\n'],
    ['HTTP/0.9 with headers', 'GET /livez\r\nHost: x\r\n\r\n'],
    ['HTTP/0.9 with a version', 'GET /livez HTTP/0.9\r\nHost: x\r\n\r\n'],
    ['HTTP/1.2', 'GET /livez HTTP/1.2\r\nHost: x\r\n\r\n'],
    ['HTTP/01.1', 'GET /livez HTTP/01.1\r\nHost: x\r\n\r\n'],
    ['http/1.1', 'GET /livez http/1.1\r\nHost: x\r\n\r\n'],
  ])('%s', async (_, bytes) => {
    await expectExactly(bytes + SMUGGLED, [NOT_HTTP]);
  });

  test('the refusal is logged with the request id', async () => {
    await using api = await startApi({ trustProxy: true });
    const headers = 'X-Request-Id: mine\r\nX-Forwarded-For: 192.0.2.66\r\n';
    await api.raw(`${post(`Transfer-Encoding: gzip, chunked\r\n${headers}`)}${CHUNKED}`);
    expect(await api.log.record(0)).toStrictEqual({
      requestId: 'mine',
      method: 'POST',
      status: 400,
      // Never the forwarded one: a client may have smuggled the headers.
      client: '127.0.0.1',
    });
  });

  test('after a valid request, whose answer comes first', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n` +
        `${post('Transfer-Encoding: gzip, chunked\r\n')}${CHUNKED}${SMUGGLED}`,
    );
    await pets.calls(1);
    pets.release();
    expect(whole(await connection.answer())).toStrictEqual(success(200, '[]'));
    expect(whole(await connection.answer())).toStrictEqual(NOT_HTTP);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });
});

// Every server reads these in the same way: RFC 9112 allows them, or they change nothing.
describe('an odd request with one meaning is accepted, and the next one begins where it should', () => {
  const trailers = (lines: string) => `${HEX}\r\n${BODY}\r\n0\r\n${lines}\r\n`;

  test.each([
    ['a coding in odd case', post('tRANSFER-eNCODING: cHUNKED\r\n') + CHUNKED],
    ['a tab before the coding', post('Transfer-Encoding:\tchunked\r\n') + CHUNKED],
    ['no space before the coding', post('Transfer-Encoding:chunked\r\n') + CHUNKED],
    ['a space after the coding', post('Transfer-Encoding: chunked \r\n') + CHUNKED],
    [
      'a coding under another header name',
      post(`Transfer_Encoding: chunked\r\nContent-Length: ${L}\r\n`) + BODY,
    ],
    ['a space after the length', post(`Content-Length: ${L} \r\n`) + BODY],
    ['a tab around the length', post(`Content-Length:\t${L}\t\r\n`) + BODY],
    ['a zero before the length', post(`Content-Length: 0${L}\r\n`) + BODY],
    ['empty lines before the request', `\r\n\r\n${post(`Content-Length: ${L}\r\n`)}${BODY}`],
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
    expect(answers.map(({ status }) => status)).toStrictEqual([100, 401, 401]);
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });

  test('HTTP/1.0 gets no "100 Continue": RFC 9110, section 10.1.1', async () => {
    await using api = await startApi();
    const answers = await api.raw(
      `${post(`Expect: 100-continue\r\nContent-Length: ${L}\r\n`).replace('HTTP/1.1', 'HTTP/1.0')}${BODY}`,
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
    ['rubbish', 'rubbish\r\n\r\n', NO_METHOD],
  ])('%s', async (_, bytes, expected) => {
    await expectExactly(bytes + SMUGGLED, [expected]);
  });
});

describe('CONNECT after another request waits for its turn', () => {
  const CONNECT = 'CONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n';

  test('after a slow request', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n${CONNECT}${SMUGGLED}`,
    );
    await pets.calls(1);
    pets.release();
    expect(whole(await connection.answer())).toStrictEqual(success(200, '[]'));
    expect(whole(await connection.answer())).toStrictEqual(NOT_ALLOWED);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });

  test('after a request that is answered at once', async () => {
    await expectExactly(`${LAST.replace('close', 'keep-alive')}${CONNECT}${SMUGGLED}`, [OK, NOT_ALLOWED]);
  });

  test('after the last request: is not processed', async () => {
    await expectExactly(`GET /livez HTTP/1.0\r\n\r\n${CONNECT}${SMUGGLED}`, [OK]);
  });

  test('from a client that disconnects', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n${CONNECT}`,
    );
    await pets.calls(1);
    connection.abort();
    expect(await api.log.record(0)).toMatchObject({ route: '/v1/pets', aborted: true });
    pets.release();
    expect(whole(await api.get('/livez'))).toStrictEqual(OK);
    expect(await api.drain(5000)).toBe(0);
  });
});

describe('an offer to upgrade is not accepted', () => {
  const offers: readonly [string, string][] = [
    [
      'h2c',
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n',
    ],
    [
      'websocket',
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
    ],
  ];

  test.each(offers)('%s: the answer is HTTP/1.1, and the last', async (_, headers) => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send('GET /li');
    await api.get('/livez');
    await connection.send(`vez HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    const answer = await connection.answer();
    expect(whole(answer)).toStrictEqual(OK);
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
  });

  test.each(offers)('%s: what follows its body is not processed', async (_, headers) => {
    for (const padding of ['', `X-Long: ${'x'.repeat(300)}\r\n`]) {
      await using api = await startApi();
      const connection = await api.connect();
      await connection.send(post(`${padding}${headers}Content-Length: ${L}\r\n`) + BODY + SMUGGLED);
      const answer = await connection.answer();
      expect(whole(answer)).toStrictEqual(CREATED);
      expect(answer.headers['connection']).toBe('close');
      await connection.closed();
      expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
    }
  });

  test('whose body comes later is answered', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    const offer = `Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: ${L}\r\n`;
    for (const piece of [post(offer), BODY.slice(0, 5), BODY.slice(5)]) {
      await connection.send(piece);
      await api.get('/livez');
    }
    expect(whole(await connection.answer())).toStrictEqual(CREATED);
    await connection.closed();
  });

  // It would belong to the other protocol. Node drops what arrived together with the offer, so what comes later could
  // begin in the middle of a request.
  test.each(offers)('%s: what arrives with the offer is not processed', async (_, headers) => {
    await using api = await startApi();
    const connection = await api.connect();
    const [head = '', body = ''] = SMUGGLED.split(/(?<=\r\n\r\n)/);
    await connection.send(`GET /livez HTTP/1.1\r\nHost: x\r\n${headers}\r\n${head}`);
    await api.get('/livez');
    await connection.send(body + REFUSED_LAST);
    const answer = await connection.answer();
    expect(whole(answer)).toStrictEqual(OK);
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });
});

test('--insecure-http-parser changes nothing', async () => {
  const service = runService({ NODE_OPTIONS: '--insecure-http-parser', API_KEYS: KEY });
  const connection = await RawConnection.open(Number(new URL(await service.url()).port));
  await connection.send(post(`Content-Length: ${L}\r\n${TE}`) + CHUNKED + SMUGGLED);
  expect(whole(await connection.answer())).toStrictEqual(NOT_HTTP);
  await connection.closed();
  connection.close();
});
