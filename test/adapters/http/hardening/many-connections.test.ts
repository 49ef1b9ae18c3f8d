import { describe, expect, test } from 'vitest';
import type { ServerLimits } from '../../../../src/adapters/http/server/limits.ts';
import { notAllowed, OK, TIMEOUT, brief } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import type { RawConnection } from '../../../support/raw-connection.ts';
import { CLOSING_REQUEST, LIVEZ } from '../raw-requests.ts';

const CONNECTION_COUNT = 100;

/** The number of sockets in this process: those of the service and those of the clients. */
const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

/** Calls `run` with a new service. Then waits until all new sockets are closed, up to the time limit of the test. */
async function expectNoLeak(limits: Partial<ServerLimits>, run: (api: Api) => Promise<void>): Promise<void> {
  const countBefore = countSockets();
  {
    await using api = await startApi({ limits });
    await run(api);
  }
  while (countSockets() > countBefore) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Opens 100 connections, one after the other. Sends the bytes on each connection immediately, because the service could
 * close a connection without bytes before the last connection is open.
 */
async function openConnections(api: Api, bytes: string): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  while (connections.length < CONNECTION_COUNT) connections.push(await api.connect(bytes));
  // The service accepts connections in the order in which they open. This connection is the last, so the answer shows
  // that all are accepted.
  await api.raw(CLOSING_REQUEST);
  return connections;
}

describe(`${CONNECTION_COUNT} connections`, () => {
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
    ['that stay idle after the first answer', { keepAliveTimeoutMs: 100 }, LIVEZ, [OK]],
    // The time limits are long, so that no connection times out before its client resets it.
    ['that clients reset', { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000 }, LIVEZ.slice(0, 10), []],
  ])('%s are closed, leave no socket, and do not block other clients', async (_, limits, bytes, expected) => {
    await expectNoLeak(limits, async (api) => {
      const connections = await openConnections(api, bytes);
      for (let i = 0; i < 5; i++) expect((await api.raw(CLOSING_REQUEST)).map(brief)).toStrictEqual([OK]);
      for (const connection of connections) {
        if (expected.length === 0) connection.abort();
        for (const answer of expected) expect(brief(await connection.answer())).toStrictEqual(answer);
        await connection.closed();
        connection.close();
      }
      expect(await api.drain(5000)).toBe(0);
      // The log also has the 6 requests `CLOSING_REQUEST`: 1 of `openConnections` and 5 of this test.
      expect(api.log.records).toHaveLength(CONNECTION_COUNT * expected.length + 6);
      expect(api.log.failures).toStrictEqual([]);
    });
  });
});

const isClosed = async (connection: RawConnection) => (await connection.next()) === undefined;

test('the service closes and reports every connection above maxConnections, and accepts a connection again after another has closed', async () => {
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
