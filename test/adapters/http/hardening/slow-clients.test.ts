import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../../support/answer.ts';
import { KEY, startApi } from '../../../support/http.ts';
import { HeldPetRepository, petBody } from '../../../support/pets.ts';
import { runService } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { newFile, otherConnection } from '../../../support/sqlite.ts';

const OK = success(200, '{"status":"ok"}');
const EMPTY = success(200, '[]');
const TIMEOUT = problem(408, 'REQUEST_TIMEOUT', 'the request did not end in time');
const NOT_HTTP = problem(400, 'INVALID_ARGUMENT', 'the request is not valid HTTP/1.1');

const HOUR_MS = 3_600_000;
const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
const LIST = `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
/** Eight answers to it are more than the operating system takes. */
const SCRIPT = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
const post = (headers: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
  `Content-Type: application/json\r\n${headers}\r\n`;

/**
 * Sends a byte every 2 ms at most, until everything is sent or the connection is closed. On every machine, 5,000 bytes
 * take far longer than the limits of time of those that are late.
 */
async function drip(connection: RawConnection, bytes: string): Promise<void> {
  for (const byte of Buffer.from(bytes)) {
    await connection.send(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe.concurrent('a byte at a time', () => {
  const body = petBody();
  const created = success(201, `{"id":1,${body.slice(1, -1)},"status":"available"}`, {
    location: '/v1/pets/1',
  });
  const chunks = body.replaceAll(/./g, '1\r\n$&\r\n');

  test.for([
    ['a request line and headers', LIVEZ, OK],
    ['a body', `${post(`Content-Length: ${body.length}\r\n`)}${body}`, created],
    ['chunks', `${post('Transfer-Encoding: chunked\r\n')}${chunks}0\r\n\r\n`, created],
  ] as const)('in time: %s', async ([, bytes, expected], context) => {
    await using api = await startApi({ limits: { headersTimeoutMs: HOUR_MS, requestTimeoutMs: HOUR_MS } });
    const connection = await api.connect();
    await drip(connection, bytes);
    context.expect(whole(await connection.answer())).toStrictEqual(expected);
  });

  const limits = { headersTimeoutMs: 100, requestTimeoutMs: 200, keepAliveTimeoutMs: 100 };
  const long = 'x'.repeat(5000);

  test.for([
    ['a request line', `GET /livez?${long}`],
    ['a header', `GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ${long}`],
    ['empty lines before the request', '\r\n'.repeat(2500)],
    ['spaces before a value', `GET /livez HTTP/1.1\r\nX-Slow:${' '.repeat(5000)}`],
    ['a body', `${post('Content-Length: 5000\r\n')}${long}`],
    ['chunks', `${post('Transfer-Encoding: chunked\r\n')}${chunks.repeat(100)}`],
    ['a chunk extension', `${post('Transfer-Encoding: chunked\r\n')}1;${long}`],
    ['a trailer', `${post('Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n0\r\nX-Slow: ${long}`],
  ])('too late: %s', async ([, bytes = ''], context) => {
    await using api = await startApi({ limits });
    const connection = await api.connect();
    // The head is in time, and the rest is late.
    const head = /^POST[^]*?\r\n\r\n/.exec(bytes)?.[0] ?? '';
    await connection.send(head);
    const refused = context.expect(drip(connection, bytes.slice(head.length))).rejects.toBeInstanceOf(Error);
    context.expect(whole(await connection.answer())).toStrictEqual(TIMEOUT);
    await connection.closed();
    await refused;
    context.expect((await api.get('/v1/pets')).body).toBe('[]');
  });

  test('too late: a small body with endless extensions', async (context) => {
    await using api = await startApi({ limits });
    const connection = await api.connect();
    await connection.send(post('Transfer-Encoding: chunked\r\n'));
    const extended = `1;${'x'.repeat(10_000)}\r\n \r\n`;
    const timer = setInterval(() => void connection.send(extended).catch(() => {}), 5);
    context.expect(whole(await connection.answer())).toStrictEqual(TIMEOUT);
    clearInterval(timer);
    await connection.closed();
  });
});

describe('a client that does not read its answers', () => {
  test('has one request in progress, no matter how many it sends', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(LIST.repeat(400));
    await pets.calls(1);
    for (let i = 0; i < 20; i++) await api.get('/livez');
    expect(pets.count).toBe(1);
    pets.release();
    for (let i = 0; i < 8; i++) expect(whole(await connection.answer())).toStrictEqual(EMPTY);
    await connection.closed();
    expect(pets.count).toBe(8);
  });

  test('loses its connection, and its answers are freed', async () => {
    await using api = await startApi({ limits: { idleTimeoutMs: 200 } });
    const connection = await api.connect();
    connection.pause();
    await connection.send(SCRIPT.repeat(8));
    // The first answer that the system has no room for.
    let aborted: unknown;
    let requests = 0;
    for (; aborted === undefined; requests++) ({ aborted } = await api.log.record(requests));
    expect(requests).toBeLessThanOrEqual(8);
    await expect.poll(() => api.drain(5_000)).toBe(0);
    expect(api.log.records).toHaveLength(requests);
  });

  test('may still send any number of requests, one at a time', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    for (let round = 0; round < 60; round++) {
      await connection.send(LIVEZ.repeat(8));
      for (let i = 0; i < 8; i++) expect(whole(await connection.answer())).toStrictEqual(OK);
    }
  });

  test('is not read from until it reads', async () => {
    const pets = new InMemoryPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    const body = petBody();
    const create = `${post(`Content-Length: ${body.length}\r\n`)}${body}`;
    connection.pause();
    // Answers of 10 MB: more than the socket buffers hold.
    await connection.send(SCRIPT.repeat(7));
    await api.log.record(0);
    await connection.send(create);
    for (let i = 0; i < 20; i++) await api.get('/livez');
    expect(await pets.list({ limit: 1 })).toStrictEqual([]);
    connection.resume();
    for (let i = 0; i < 7; i++) expect((await connection.answer()).status).toBe(200);
    expect((await connection.answer()).status).toBe(201);
    expect(await pets.list({ limit: 100 })).toHaveLength(1);
  });

  test('and sends rubbish: the rubbish is not kept in memory', async () => {
    const file = await newFile();
    const service = runService({ API_KEYS: KEY, DATABASE_URL: `sqlite:${file}` });
    const port = Number(new URL(await service.url()).port);
    const [connection, other] = [await RawConnection.open(port), await RawConnection.open(port)];
    const lock = otherConnection(file);
    lock.exec('BEGIN IMMEDIATE');
    const body = petBody();
    await connection.send(`${post(`Content-Length: ${body.length}\r\n`)}${body}rubbish\r\n\r\n`);
    for (let i = 0; i < 30; i++) {
      await connection.send(Buffer.alloc(10_000, 'x'));
      await other.send(LIVEZ);
      await other.answer();
    }
    lock.exec('COMMIT');
    expect((await connection.answer()).status).toBe(201);
    expect((await connection.answer()).status).toBe(400);
    await connection.closed();
    // Each listener would hold some of the rubbish. Node warns of more than ten listeners for one event.
    expect(service.stderr).toBe('');
  });
});

describe('a client that ends its side', () => {
  test.each([
    ['in the request line', 'GET /liv', [NOT_HTTP]],
    ['in the headers', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-', [NOT_HTTP]],
    ['in a chunk', `${post('Transfer-Encoding: chunked\r\n')}5\r\n{"na`, [NOT_HTTP]],
    ['before the last chunk', `${post('Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n`, [NOT_HTTP]],
    ['in the request after a complete one', `${LIVEZ}GET /liv`, [OK, NOT_HTTP]],
  ])('%s', async (_, bytes, expected) => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(bytes);
    connection.endSending();
    for (const answer of expected) expect(whole(await connection.answer())).toStrictEqual(answer);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });
});
