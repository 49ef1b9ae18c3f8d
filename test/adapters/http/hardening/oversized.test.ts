import { expect, test } from 'vitest';
import { OK, TOO_LARGE, UNAUTHENTICATED, brief } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { create, post } from '../raw-requests.ts';

/** 64 KiB, the maximum of a body, and the same bytes as one chunk. */
const block = Buffer.alloc(64 * 1024, 'x');
const chunk = Buffer.concat([Buffer.from('10000\r\n'), block, Buffer.from('\r\n')]);
const CONTENT_LENGTH = 'Content-Length: 1000000000000\r\n';
const CHUNKED_HEADER = 'Transfer-Encoding: chunked\r\n';

test.concurrent.for([
  ['in chunks', post(CHUNKED_HEADER), chunk, TOO_LARGE],
  ['in one chunk', `${post(CHUNKED_HEADER)}fffffffffffffff\r\n`, block, TOO_LARGE],
  ['without a key', `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${CONTENT_LENGTH}\r\n`, block, UNAUTHENTICATED],
] as const)(
  'a request with an endless body is answered once, and its connection is closed after the time limit: the request is sent %s',
  async ([, head, bytes, expected], context) => {
    await using api = await startApi({ limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 1_000 } });
    const connection = await api.connect(head);
    const sendError = (async () => {
      for (;;) await connection.send(bytes);
    })().catch((error: unknown) => error);
    context.expect(brief(await connection.answer())).toStrictEqual(expected);
    await connection.closed();
    context.expect(await sendError).toBeInstanceOf(Error);
    context.expect(brief(await api.get('/livez'))).toStrictEqual(OK);
    await api.log.record(1);
    context.expect(api.log.records).toHaveLength(2);
  },
);

// If the service closed a connection before it reads the body, the operating system would send a reset, and the client
// could lose the answer.
test('the service reads and discards a body that is too long before it sends the last answer of the connection', async () => {
  await using api = await startApi();
  const connection = await api.connect(post(`Connection: close\r\n${CHUNKED_HEADER}`));
  for (let i = 0; i < 5; i++) await connection.send(chunk);
  // This request gives the service time to read the chunks before the body ends.
  await api.get('/livez');
  await connection.send('0\r\n\r\n');
  expect(brief(await connection.answer())).toStrictEqual(TOO_LARGE);
  await connection.closed();
});

test('before the last answer of a connection, the service waits one second for a body that does not end', async () => {
  await using api = await startApi();
  const connection = await api.connect(post(`Connection: close\r\n${CHUNKED_HEADER}`));
  for (let i = 0; i < 2; i++) await connection.send(chunk);
  const beganMs = performance.now();
  expect(brief(await connection.answer())).toStrictEqual(TOO_LARGE);
  await connection.closed();
  expect(performance.now() - beganMs).toBeGreaterThan(900);
});

test('if the connection stays open, the service answers a body that is too long before the end of the body', async () => {
  await using api = await startApi();
  const connection = await api.connect(post(CHUNKED_HEADER));
  for (let i = 0; i < 2; i++) await connection.send(chunk);
  expect(brief(await connection.answer())).toStrictEqual(TOO_LARGE);
  await connection.send(`0\r\n\r\n${create(petBody())}`);
  expect(await connection.answer()).toMatchObject({ status: 201 });
});
