import { describe, expect, test } from 'vitest';
import type { ServerLimits } from '../../../../src/adapters/http/server/limits.ts';
import { notAllowed, OK, TIMEOUT, brief } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import type { RawConnection } from '../../../support/raw-connection.ts';
import { CLOSING_REQUEST, LIVEZ } from '../raw-requests.ts';

const COUNT = 100;

/** The number of sockets in this process: those of the service and those of the clients. */
const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

/** Calls `run` with a new service. Then waits until all sockets are closed, or fails at the time limit of the test. */
async function runLeakFree(limits: Partial<ServerLimits>, run: (api: Api) => Promise<void>): Promise<void> {
  const countBefore = countSockets();
  {
    await using api = await startApi({ limits });
    await run(api);
  }
  while (countSockets() > countBefore) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Opens 100 connections. Each connection sends its bytes as soon as it is open, because it could time out before the
 * last connection is open.
 */
async function openConnections(api: Api, bytes: string): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  while (connections.length < COUNT) connections.push(await api.connect(bytes));
  // The service accepts connections in order. When it answers this request, it has accepted all of them.
  await api.raw(CLOSING_REQUEST);
  return connections;
}

describe(`${COUNT} connections`, () => {
  const shortLimits = { headersTimeoutMs: 1000, requestTimeoutMs: 1000 };

  test.each([
    ['without a request', shortLimits, '', [TIMEOUT]],
    ['with half a request', shortLimits, 'GET /livez HTTP/1.1\r\nHost: x\r\nX-', [TIMEOUT]],
    [
      'with a request whose body never arrives',
      shortLimits,
      'POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n',
      [notAllowed('GET, HEAD, OPTIONS')],
    ],
    ['without a request after the first answer', { keepAliveTimeoutMs: 100 }, LIVEZ, [OK]],
    // The time limits are long, so that no connection times out before the last connection is open.
    ['that clients reset', { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000 }, LIVEZ.slice(0, 10), []],
  ])('%s are closed, do not leak, and do not block other clients', async (_, limits, bytes, expected) => {
    await runLeakFree(limits, async (api) => {
      const connections = await openConnections(api, bytes);
      for (let i = 0; i < 5; i++) expect((await api.raw(CLOSING_REQUEST)).map(brief)).toStrictEqual([OK]);
      for (const connection of connections) {
        if (expected.length === 0) connection.abort();
        for (const answer of expected) expect(brief(await connection.answer())).toStrictEqual(answer);
        await connection.closed();
        connection.close();
      }
      expect(await api.drain(5000)).toBe(0);
      expect(api.log.records).toHaveLength(COUNT * expected.length + 6);
      expect(api.log.failures).toStrictEqual([]);
    });
  });
});

const isClosed = async (connection: RawConnection) => (await connection.next()) === undefined;

test('a connection above the limit is closed immediately and reported, and a new connection is accepted after an open one closes', async () => {
  await using api = await startApi({ limits: { maxConnections: 3 } });
  const firstConnections = await Promise.all(Array.from({ length: 3 }, () => api.connect()));
  for (const connection of firstConnections) {
    await connection.send(LIVEZ);
    expect(brief(await connection.answer())).toStrictEqual(OK);
  }
  for (let i = 0; i < 20; i++) expect(await isClosed(await api.connect())).toBe(true);
  expect(api.log.connectionErrors).toStrictEqual(Array.from({ length: 20 }, () => ({ kind: 'refused' })));
  await firstConnections[0]?.send(CLOSING_REQUEST);
  expect(brief(await firstConnections[0]!.answer())).toStrictEqual(OK);
  await firstConnections[0]?.closed();
  firstConnections[0]?.close();
  expect((await api.raw(CLOSING_REQUEST)).map(brief)).toStrictEqual([OK]);
});
