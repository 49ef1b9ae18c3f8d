import { expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { OK, TIMEOUT, brief } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { HeldPetRepository } from '../../../support/pets.ts';
import type { RawConnection } from '../../../support/raw-connection.ts';
import { LIVEZ, post } from '../raw-requests.ts';

const limits = { headersTimeoutMs: 100, requestTimeoutMs: 200, keepAliveTimeoutMs: 100 };

/**
 * Sends the bytes one by one, with at least 2 ms after each byte. Rejects if the connection is closed before the last
 * byte. 5,000 bytes take at least 10 s, which is much longer than the limits.
 */
async function sendSlowly(connection: RawConnection, bytes: string): Promise<void> {
  for (const byte of Buffer.from(bytes)) {
    await connection.send(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const LONG_TEXT = 'x'.repeat(5000);
const CHUNKED = post('Transfer-Encoding: chunked\r\n');
const UNFINISHED_GET = 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow:';

test.concurrent.for([
  ['no byte at all', '', ''],
  ['half the headers', UNFINISHED_GET, ''],
  ['half a body', `${post('Content-Length: 10\r\n')}{"nam`, ''],
  ['no last chunk', `${CHUNKED}2\r\n{}\r\n`, ''],
  ['a slow header', UNFINISHED_GET, LONG_TEXT],
  ['slow empty lines at its beginning', '', '\r\n'.repeat(2500)],
  ['a slow body', post('Content-Length: 5000\r\n'), LONG_TEXT],
  ['a slow chunk extension', `${CHUNKED}1;`, LONG_TEXT],
  ['a slow trailer', `${CHUNKED}2\r\n{}\r\n0\r\nX-Slow: `, LONG_TEXT],
])('a request with %s is answered with 408 and disconnected', async ([, head, slowBytes], context) => {
  const pets = new InMemoryPetRepository();
  await using api = await startApi({ limits, pets });
  const connection = await api.connect(head);
  const sending = sendSlowly(connection, slowBytes!).catch((error: unknown) => error);
  const answer = await connection.answer();
  context.expect(brief(answer)).toStrictEqual(TIMEOUT);
  context.expect(answer.headers['connection']).toBe('close');
  await connection.closed();
  context.expect(await sending).toStrictEqual(slowBytes === '' ? undefined : context.expect.any(Error));
  const requestId = answer.headers['x-request-id'];
  const record = context.expect.objectContaining({ status: 408, client: '127.0.0.1', requestId });
  context.expect([api.log.records, api.log.failures]).toStrictEqual([[record], []]);
  context.expect(await pets.list({ limit: 1 })).toStrictEqual([]);
});

test('the second request on a connection is answered with 408 if it is too slow', async () => {
  await using api = await startApi({ limits });
  expect((await api.raw(`${LIVEZ}GET /liv`)).map(brief)).toStrictEqual([OK, TIMEOUT]);
});

// hardening/many-connections.test.ts tests idle connections, and clients that stop sending their body after the answer.
test('the time limits apply to the sending of a request, and not to the time that the service needs for its answer', async () => {
  const pets = new HeldPetRepository();
  await using api = await startApi({ limits, pets });
  const answer = api.get('/v1/pets');
  await pets.calls(1);
  for (let n = 0; n < 2; n++) {
    const slowClient = await api.connect(post('Content-Length: 10\r\n'));
    expect(brief(await slowClient.answer())).toStrictEqual(TIMEOUT);
  }
  pets.release();
  expect((await answer).status).toBe(200);
});
