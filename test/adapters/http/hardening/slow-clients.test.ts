import { describe, expect, test } from 'vitest';
import { CREATED, OK, problem, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import type { RawConnection } from '../../../support/raw-connection.ts';
import { LIVEZ, post } from '../raw-requests.ts';

const NOT_HTTP = problem(400, 'INVALID_ARGUMENT', 'the request is not valid HTTP/1.1');

const HOUR_MS = 3_600_000;
/** Eight answers to it are more than the operating system takes. */
const SCRIPT = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';

/** Sends a byte a time, each in a packet of its own. */
async function drip(connection: RawConnection, bytes: string): Promise<void> {
  for (const byte of Buffer.from(bytes)) {
    await connection.send(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe.concurrent('a request that comes a byte at a time is answered', () => {
  const body = petBody();
  const chunks = body.replaceAll(/./g, '1\r\n$&\r\n');

  test.for([
    ['a request line and headers', LIVEZ, OK],
    ['a body', `${post(`Content-Length: ${body.length}\r\n`)}${body}`, CREATED],
    ['chunks', `${post('Transfer-Encoding: chunked\r\n')}${chunks}0\r\n\r\n`, CREATED],
  ] as const)('in time: %s', async ([, bytes, expected], context) => {
    await using api = await startApi({ limits: { headersTimeoutMs: HOUR_MS, requestTimeoutMs: HOUR_MS } });
    const connection = await api.connect();
    await drip(connection, bytes);
    context.expect(whole(await connection.answer())).toStrictEqual(expected);
  });
});

test('a client that does not read its answers loses its connection, and its answers are freed', async () => {
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
