import { expect, test } from 'vitest';
import { NOT_HTTP, OK, brief } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { SPEAKS_TLS } from '../../../support/tls/pem-files.ts';
import { LIVEZ, post, SCRIPT } from '../raw-requests.ts';

test('the service closes the connection of a client that does not read its answers, and answers no further request', async () => {
  await using api = await startApi({ limits: { idleTimeoutMs: 200 } });
  const connection = await api.connect();
  connection.pause();
  await connection.send(SCRIPT.repeat(8));
  // Counts the answers in the log, up to and with the first aborted answer. The answers before it fit in the buffers of
  // the operating system.
  let aborted: unknown;
  let answerCount = 0;
  for (; aborted === undefined; answerCount++) ({ aborted } = await api.log.record(answerCount));
  expect(answerCount).toBeLessThanOrEqual(8);
  await expect.poll(() => api.drain(5_000)).toBe(0);
  expect(api.log.records).toHaveLength(answerCount);
});

test.for([
  ['in the middle of the request line', 'GET /liv', [NOT_HTTP]],
  ['in the middle of the headers', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-', [NOT_HTTP]],
  ['in the middle of a chunk', `${post('Transfer-Encoding: chunked\r\n')}5\r\n{"na`, [NOT_HTTP]],
  ['before the last chunk', `${post('Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n`, [NOT_HTTP]],
  ['in the middle of its second request line', `${LIVEZ}GET /liv`, [OK, NOT_HTTP]],
] as const)(
  'a client that ends its side of the connection %s receives an answer to each request',
  async ([, bytes, expected], { skip }) => {
    if (SPEAKS_TLS) skip('over TLS, Node ends both sides of a connection together');
    await using api = await startApi();
    const connection = await api.connect(bytes);
    connection.endSending();
    for (const answer of expected) expect(brief(await connection.answer())).toStrictEqual(answer);
    await connection.closed();
    expect((await api.get('/v1/pets')).body).toBe('[]');
  },
);
