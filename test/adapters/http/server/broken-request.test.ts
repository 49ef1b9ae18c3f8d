import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isAmbiguous } from '../../../../src/adapters/http/server/broken-request.ts';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { answerHeaders } from '../../../../src/adapters/http/wire/answer-headers.ts';
import { problem, success, whole } from '../../../support/answer.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { HeldPetRepository, petBody } from '../../../support/pets.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { RecordingLog } from '../../../support/recording-log.ts';
import { PAIR, SPEAKS_TLS } from '../../../support/tls/pem-files.ts';

const OK = success(200, '{"status":"ok"}');
const bad = (message: string) => problem(400, 'INVALID_ARGUMENT', message);
const NOT_HTTP = bad('the request is not valid HTTP/1.1');
const NO_METHOD = bad('the request has no HTTP method that this service knows');
const BAD_HOST = bad('the request must have one valid Host header');

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
const LIST = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
const POST = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;

describe('input that is not HTTP is answered in JSON, and the connection is closed', () => {
  test.each([
    ['a word', 'rubbish\r\n\r\n', NO_METHOD],
    ['binary', Buffer.from([0, 255, 1, 254, 13, 10, 13, 10]), NO_METHOD],
    ['the start of a TLS handshake', Buffer.from('16030100f5010000f10303', 'hex'), NO_METHOD],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', NOT_HTTP],
    ['HTTP/3.0', 'GET /livez HTTP/3.0\r\nHost: x\r\n\r\n', NOT_HTTP],
    ['a space in the URL', 'GET /v1 /pets HTTP/1.1\r\nHost: x\r\n\r\n', NOT_HTTP],
    ['a header without a colon', 'GET /livez HTTP/1.1\r\nHost\r\n\r\n', NOT_HTTP],
    ['a space before the colon', 'GET /livez HTTP/1.1\r\nHost : x\r\n\r\n', NOT_HTTP],
    ['a folded header', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\n\r\n', NOT_HTTP],
    ['a NUL in a header', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n', NOT_HTTP],
    ['a bare CR', 'GET /livez HTTP/1.1\rHost: x\r\r', NOT_HTTP],
    ['a negative length', `${POST}Content-Length: -1\r\n\r\n`, NOT_HTTP],
    ['a length that is not a number', `${POST}Content-Length: 1x\r\n\r\n`, NOT_HTTP],
    ['a length beyond 2^64', `${POST}Content-Length: 99999999999999999999\r\n\r\n`, NOT_HTTP],
    ['two lengths', `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, NOT_HTTP],
    [
      'a length and chunks',
      `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      NOT_HTTP,
    ],
    [
      'chunks and a length',
      `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
      NOT_HTTP,
    ],
    ['a coding other than chunked', `${POST}Transfer-Encoding: gzip\r\n\r\n`, NOT_HTTP],
    [
      'chunked, but not as the last coding',
      `${POST}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
      NOT_HTTP,
    ],
  ])('%s', async (_, bytes, expected) => {
    await using api = await startApi();
    const answers = await api.raw(bytes);
    expect(answers.map(whole)).toStrictEqual([expected]);
    expect(answers[0]?.headers['connection']).toBe('close');
    expect(whole(await api.get('/livez'))).toStrictEqual(OK);
  });

  test('a client that never hangs up is disconnected', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send('rubbish\r\n\r\n');
    await connection.answer();
    // This side stays open. The server does not wait for it for ever.
    await connection.closed();
    expect(await api.drain(5000)).toBe(0);
  });
});

describe('after an offer to upgrade, whose answer is the last', () => {
  const OFFER = LIVEZ.replace('Host', 'Connection: Upgrade\r\nUpgrade: h2c\r\nHost');

  test.each(['rubbish\r\n\r\n', 'a', 'GET /livez HTTP/1.1\r\nHost', '', '\r\n\r\n', LIVEZ])(
    '%j is not answered',
    async (rest) => {
      await using api = await startApi();
      const connection = await api.connect();
      await connection.send(OFFER);
      const answer = await connection.answer();
      expect(whole(answer)).toStrictEqual(OK);
      expect(answer.headers['connection']).toBe('close');
      await connection.send(rest);
      connection.endSending();
      await connection.closed();
      expect(api.log.records).toHaveLength(1);
    },
  );

  test.each([4, 3, 2, 1, 0])('the next request comes with its last %d bytes', async (count) => {
    await using api = await startApi();
    const connection = await api.connect();
    const cut = OFFER.length - count;
    await connection.send(OFFER.slice(0, cut));
    await api.get('/livez');
    await connection.send((OFFER + LIVEZ).slice(cut));
    connection.endSending();
    expect(whole(await connection.answer())).toStrictEqual(OK);
    await connection.closed();
  });

  test('an offer that is answered before its body is complete', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(`${OFFER.replace('Host', 'Content-Length: 4\r\nHost')}{}`);
    const answer = await connection.answer();
    expect(whole(answer)).toStrictEqual(OK);
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
  });
});

describe('the Host', () => {
  const hosts = (...lines: string[]) => `GET /livez HTTP/1.1\r\n${lines.join('')}Connection: close\r\n\r\n`;

  test.each([
    ['none', hosts()],
    ['an empty one', hosts('Host:\r\n')],
    ['two', hosts('Host: x\r\n', 'Host: y\r\n')],
    ['the same twice', hosts('Host: x\r\n', 'host: x\r\n')],
    ['two in one', hosts('Host: x, y\r\n')],
    ['with a path', hosts('Host: x/y\r\n')],
    ['with a user', hosts('Host: me@x\r\n')],
    ['with characters that would end a link', hosts('Host: x>; rel="next"\r\n')],
    ['with a port that is not a number', hosts('Host: x:y\r\n')],
    ['with a port that is too long', hosts('Host: x:123456\r\n')],
    ['none, for an absolute URL', hosts().replace('/livez', 'http://x/livez')],
  ])('%s: 400', async (_, bytes) => {
    await using api = await startApi();
    expect((await api.raw(bytes)).map(whole)).toStrictEqual([BAD_HOST]);
  });

  test.each([
    'x',
    'x:1',
    'petstore.example',
    '127.0.0.1:80',
    '[::1]:80',
    'under_score',
    'xn--zo-bja.example',
  ])('%s: accepted', async (host) => {
    await using api = await startApi();
    expect((await api.raw(hosts(`Host: ${host}\r\n`))).map(whole)).toStrictEqual([OK]);
  });

  test('HTTP/1.0 needs no Host', async () => {
    await using api = await startApi();
    const answers = await api.raw(`GET /v1/pets/1 HTTP/1.0\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
    expect(answers).toMatchObject([
      { status: 404, headers: { link: expect.stringContaining(`<${api.url}/docs#getPet>`) } },
    ]);
  });
});

describe('several requests on a connection', () => {
  test('valid requests are answered in order', async () => {
    await using api = await startApi();
    const body = petBody();
    const last = LIVEZ.replace('Host', 'Connection: close\r\nHost');
    const answers = await api.raw(
      `${LIST}${POST}Content-Length: ${body.length}\r\n\r\n${body}${LIVEZ}${last}`,
    );
    const pet = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
    expect(answers.map(whole)).toStrictEqual([
      success(200, '[]'),
      success(201, pet, { location: '/v1/pets/1' }),
      OK,
      OK,
    ]);
  });

  test.each([
    ['rubbish', 'rubbish\r\n\r\n', NO_METHOD],
    ['a broken header', 'GET / HTTP/1.1\r\nHost\r\n\r\n', NOT_HTTP],
    ['a body after "close"', `${LIVEZ.replace('Host', 'Connection: close\r\nHost')}x`, OK],
  ])('the answer to a valid request comes first, and complete: %s', async (_, rubbish, expected) => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(LIVEZ + LIST + LIST + rubbish);
    await pets.calls(1);
    await connection.send('and more of it');
    pets.release();
    const answers = [];
    for (let answer = await connection.next(); answer !== undefined; answer = await connection.next()) {
      answers.push(whole(answer));
    }
    expect(answers).toStrictEqual([OK, success(200, '[]'), success(200, '[]'), expected]);
  });

  // RFC 9112, section 9.6. A reset can destroy the answer before the client reads it.
  test.each([
    ['with "Connection: close"', LIVEZ.replace('Host', 'Connection: close\r\nHost')],
    ['to CONNECT', LIVEZ.replace('GET', 'CONNECT')],
  ])('the last answer, %s, reaches a client that keeps sending', async (_, last) => {
    await using api = await startApi();
    const connection = await api.connect();
    connection.pause();
    for (const bytes of [last, LIVEZ, LIVEZ, LIVEZ]) {
      await connection.send(bytes);
      await api.get('/livez');
    }
    connection.resume();
    expect(await connection.answer()).toMatchObject({ headers: { connection: 'close' } });
    await connection.closed();
  });

  test('a broken body after a valid request', async () => {
    await using api = await startApi();
    const broken = `${POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`;
    expect((await api.raw(LIST + broken)).map(whole)).toStrictEqual([success(200, '[]'), NOT_HTTP]);
  });
});

describe('a request line and headers over 16 KiB', () => {
  const TOO_LARGE = 'the request line and headers must be at most 16384 bytes';

  test.each([
    [8192, problem(431, 'HEADERS_TOO_LARGE', TOO_LARGE)],
    [8193, problem(414, 'URI_TOO_LONG', 'the URL must be at most 8192 bytes')],
  ])('with a URL of %d bytes', async (length, expected) => {
    await using api = await startApi();
    const url = '/livez?'.padEnd(length, 'x');
    const answers = await api.raw(`GET ${url} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(9000)}\r\n\r\n`);
    expect(answers.map(whole)).toStrictEqual([expected]);
  });
});

describe('a broken or incomplete body', () => {
  const nothingIsStored = async (api: Api) => expect((await api.get('/v1/pets')).body).toBe('[]');

  test.each([
    ['an invalid chunk', `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\nxyz\r\n`, NOT_HTTP],
    ['a chunk without its line end', `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n`, NOT_HTTP],
    [
      'endless chunk extensions',
      `${POST}Transfer-Encoding: chunked\r\n\r\n5;${'x'.repeat(20_000)}`,
      problem(413, 'PAYLOAD_TOO_LARGE', 'the chunk extensions are too large'),
    ],
  ])('%s', async (_, bytes, expected) => {
    await using api = await startApi();
    expect((await api.raw(bytes)).map(whole)).toStrictEqual([expected]);
    await nothingIsStored(api);
  });

  test('an invalid chunk after the answer', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send('POST /v1/pets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    expect(await connection.answer()).toMatchObject({ status: 401 });
    await connection.send('xyz\r\n');
    await connection.closed();
    expect(api.log.records).toHaveLength(1);
  });

  test.each([
    ['an invalid chunk', 'data', (client: RawConnection) => client.send('xyz\r\n')],
    ['the end of its side', 'end', (client: RawConnection) => client.endSending()],
  ] as const)('%s, between the headers of the answer and its body', async (_, event, breakBody) => {
    const log = new RecordingLog();
    const hasBegun = Promise.withResolvers<void>();
    const handle: RequestListener = (request, response) => {
      response.writeHead(200, answerHeaders('an-id', OK.body));
      request.socket.once(event, () => response.end(OK.body));
      hasBegun.resolve();
    };
    const server = await listen(handle, {
      host: '127.0.0.1',
      port: 0,
      log,
      tls: SPEAKS_TLS ? PAIR : undefined,
    });
    onTestFinished(async () => void (await server.drain(0)));
    const client = await RawConnection.open(server.port);
    await client.send('GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await hasBegun.promise;
    await breakBody(client);
    expect(whole(await client.answer())).toStrictEqual(OK);
    await client.closed();
    expect(log.records).toStrictEqual([]);
  });

  test('a client that disconnects in the middle', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(`${POST}Content-Length: ${petBody().length}\r\n\r\n${petBody().slice(0, -1)}`);
    connection.abort();
    expect(await api.log.record(0)).toMatchObject({ method: 'POST', aborted: true });
    await nothingIsStored(api);
    expect(api.log.failures).toStrictEqual([]);
  });

  test('a client that ends its side in the middle and still reads', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(`${POST}Content-Length: ${petBody().length}\r\n\r\n${petBody().slice(0, -1)}`);
    connection.endSending();
    expect(whole(await connection.answer())).toStrictEqual(NOT_HTTP);
    await connection.closed();
    await nothingIsStored(api);
  });
});

describe('a client that ends its side and still reads', () => {
  test('gets its answer, however long it takes', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(LIST);
    connection.endSending();
    await pets.calls(1);
    // By the time of this answer, the end of the client's side has reached the server.
    await api.get('/livez');
    pets.release();
    expect(whole(await connection.answer())).toStrictEqual(success(200, '[]'));
    await connection.closed();
  });

  test('gets all of its answers', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(LIST + LIVEZ + LIST);
    connection.endSending();
    for (const expected of [success(200, '[]'), OK, success(200, '[]')]) {
      expect(whole(await connection.answer())).toStrictEqual(expected);
    }
    await connection.closed();
  });

  test('without a request: gets no answer', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    connection.endSending();
    await connection.closed();
    expect(api.log.records).toStrictEqual([]);
  });
});

test.each([
  ['1.1', undefined, false],
  ['1.1', 'chunked', false],
  ['1.1', 'Chunked', false],
  ['1.1', 'gzip, chunked', true],
  ['1.1', '', true],
  ['1.0', undefined, false],
  ['1.0', 'chunked', true],
  ['0.9', undefined, true],
  ['2.0', undefined, true],
])('HTTP/%s with Transfer-Encoding %j is ambiguous: %j', (httpVersion, coding, expected) => {
  const headers = coding === undefined ? {} : { 'transfer-encoding': coding };
  expect(isAmbiguous({ httpVersion, headers } as IncomingMessage)).toBe(expected);
});
