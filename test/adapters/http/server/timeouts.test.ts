import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { TIMEOUT, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { HeldPetRepository } from '../../../support/pets.ts';
import type { RawConnection } from '../../../support/raw-connection.ts';
import { LIVEZ, post } from '../raw-requests.ts';

const limits = { headersTimeoutMs: 100, requestTimeoutMs: 200, keepAliveTimeoutMs: 100 };

describe.concurrent('an incomplete request: 408, and the connection is closed', () => {
  test.for([
    ['no byte at all', ''],
    ['half the headers', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow:'],
    ['half a body', `${post('Content-Length: 10\r\n')}{"nam`],
    ['no last chunk', `${post('Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n`],
  ])('%s', async ([, bytes = ''], context) => {
    await using api = await startApi({ limits });
    const answers = await api.raw(bytes);
    context.expect(answers.map(whole)).toStrictEqual([TIMEOUT]);
    context.expect(answers[0]?.headers['connection']).toBe('close');
    context.expect(await api.log.record(0)).toMatchObject({
      status: 408,
      client: '127.0.0.1',
      requestId: answers[0]?.headers['x-request-id'],
    });
    context.expect([api.log.records.length, api.log.failures]).toStrictEqual([1, []]);
  });

  test('the second request on its connection', async (context) => {
    await using api = await startApi({ limits });
    const connection = await api.connect(`${LIVEZ}GET /liv`);
    context.expect(await connection.answer()).toMatchObject({ status: 200 });
    context.expect(whole(await connection.answer())).toStrictEqual(TIMEOUT);
    await connection.closed();
  });
});

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

test.concurrent.for([
  ['a header', '', `GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ${long}`],
  ['empty lines before the request', '', '\r\n'.repeat(2500)],
  ['a body', post('Content-Length: 5000\r\n'), long],
  ['a chunk extension', CHUNKED, `1;${long}`],
  ['a trailer', CHUNKED, `2\r\n{}\r\n0\r\nX-Slow: ${long}`],
])(
  'a request that keeps arriving, too late: 408, and the connection is closed: %s',
  async ([, head = '', bytes = ''], context) => {
    const pets = new InMemoryPetRepository();
    await using api = await startApi({ limits, pets });
    const connection = await api.connect(head);
    const refused = context.expect(drip(connection, bytes)).rejects.toBeInstanceOf(Error);
    context.expect(whole(await connection.answer())).toStrictEqual(TIMEOUT);
    await connection.closed();
    await refused;
    context.expect(await pets.list({ limit: 1 })).toStrictEqual([]);
  },
);

// hardening/many-connections.test.ts has idle connections, and bodies that stall after the answer.
test('the limits hold for the client only: the service may take longer', async () => {
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
