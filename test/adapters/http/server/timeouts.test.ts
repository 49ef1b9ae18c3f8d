import { expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { OK, TIMEOUT, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { HeldPetRepository } from '../../../support/pets.ts';
import type { RawConnection } from '../../../support/raw-connection.ts';
import { LIVEZ, post } from '../raw-requests.ts';

const limits = { headersTimeoutMs: 100, requestTimeoutMs: 200, keepAliveTimeoutMs: 100 };

/**
 * Sends a byte every 2 ms at most, until everything is sent or the connection is closed. On every machine, 5,000 bytes
 * take far longer than the limits.
 */
async function drip(connection: RawConnection, bytes: string): Promise<void> {
  for (const byte of Buffer.from(bytes)) {
    await connection.send(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const long = 'x'.repeat(5000);
const CHUNKED = post('Transfer-Encoding: chunked\r\n');
const HEAD = 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow:';

test.concurrent.for([
  ['no byte at all', '', ''],
  ['half the headers', HEAD, ''],
  ['half a body', `${post('Content-Length: 10\r\n')}{"nam`, ''],
  ['no last chunk', `${CHUNKED}2\r\n{}\r\n`, ''],
  ['a slow header', HEAD, long],
  ['slow empty lines before the request', '', '\r\n'.repeat(2500)],
  ['a slow body', post('Content-Length: 5000\r\n'), long],
  ['a slow chunk extension', `${CHUNKED}1;`, long],
  ['a slow trailer', `${CHUNKED}2\r\n{}\r\n0\r\nX-Slow: `, long],
])('a late request is answered with 408, and its connection closed: %s', async ([, head, slow], context) => {
  const pets = new InMemoryPetRepository();
  await using api = await startApi({ limits, pets });
  const connection = await api.connect(head);
  const dripping = drip(connection, slow!).catch((error: unknown) => error);
  const answer = await connection.answer();
  context.expect(whole(answer)).toStrictEqual(TIMEOUT);
  context.expect(answer.headers['connection']).toBe('close');
  await connection.closed();
  context.expect(await dripping).toStrictEqual(slow === '' ? undefined : context.expect.any(Error));
  const requestId = answer.headers['x-request-id'];
  const record = context.expect.objectContaining({ status: 408, client: '127.0.0.1', requestId });
  context.expect([api.log.records, api.log.failures]).toStrictEqual([[record], []]);
  context.expect(await pets.list({ limit: 1 })).toStrictEqual([]);
});

test('a late second request on a connection is answered with 408', async () => {
  await using api = await startApi({ limits });
  expect((await api.raw(`${LIVEZ}GET /liv`)).map(whole)).toStrictEqual([OK, TIMEOUT]);
});

// hardening/many-connections.test.ts has idle connections, and bodies that stall after the answer.
test('the time limits apply to the client only, so the service may take longer', async () => {
  const pets = new HeldPetRepository();
  await using api = await startApi({ limits, pets });
  const answer = api.get('/v1/pets');
  await pets.calls(1);
  for (let n = 0; n < 2; n++) {
    const late = await api.connect(post('Content-Length: 10\r\n'));
    expect(whole(await late.answer())).toStrictEqual(TIMEOUT);
  }
  pets.release();
  expect((await answer).status).toBe(200);
});
