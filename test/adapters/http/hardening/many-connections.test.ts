import { describe, expect, test } from 'vitest';
import type { ServerLimits } from '../../../../src/adapters/http/server/limits.ts';
import { allows, OK, TIMEOUT, whole } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import type { RawConnection } from '../../../support/raw-connection.ts';
import { LAST, LIVEZ } from '../raw-requests.ts';

const COUNT = 100;

/** How many sockets this process has, at either end. */
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

/** Runs this with a service, and waits until every socket is closed: in later iterations of the event loop. */
async function leakingNone(limits: Partial<ServerLimits>, run: (api: Api) => Promise<void>): Promise<void> {
  const before = sockets();
  {
    await using api = await startApi({ limits });
    await run(api);
  }
  while (sockets() > before) await new Promise((resolve) => setImmediate(resolve));
}

/** Opens connections, and sends these bytes on each of them at once: otherwise it could time out before. */
async function connections(api: Api, bytes: string): Promise<RawConnection[]> {
  const all: RawConnection[] = [];
  while (all.length < COUNT) all.push(await api.connect(bytes));
  // Connections are accepted in order.
  await api.raw(LAST);
  return all;
}

describe(`${COUNT} connections`, () => {
  const soon = { headersTimeoutMs: 1000, requestTimeoutMs: 1000 };

  test.each([
    ['that send nothing', soon, '', [TIMEOUT]],
    ['that send half a request', soon, 'GET /livez HTTP/1.1\r\nHost: x\r\nX-', [TIMEOUT]],
    [
      'that never send their body',
      soon,
      'POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n',
      [allows('GET, HEAD, OPTIONS')],
    ],
    ['that are idle after an answer', { keepAliveTimeoutMs: 100 }, LIVEZ, [OK]],
    // None of them may time out before all are open.
    ['that disconnect', { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000 }, LIVEZ.slice(0, 10), []],
  ])('%s are closed while others are answered, and none leaks', async (_, limits, bytes, expected) => {
    await leakingNone(limits, async (api) => {
      const all = await connections(api, bytes);
      for (let i = 0; i < 5; i++) expect((await api.raw(LAST)).map(whole)).toStrictEqual([OK]);
      for (const connection of all) {
        if (expected.length === 0) connection.abort();
        for (const answer of expected) expect(whole(await connection.answer())).toStrictEqual(answer);
        await connection.closed();
        connection.close();
      }
      expect(await api.drain(5000)).toBe(0);
      expect(api.log.records).toHaveLength(COUNT * expected.length + 6);
      expect(api.log.failures).toStrictEqual([]);
    });
  });
});

const gone = async (connection: RawConnection) => (await connection.next()) === undefined;

test('connections above the limit are closed immediately and reported, and new ones are accepted when others close', async () => {
  await using api = await startApi({ limits: { maxConnections: 3 } });
  const open = await Promise.all(Array.from({ length: 3 }, () => api.connect()));
  for (const connection of open) {
    await connection.send(LIVEZ);
    expect(whole(await connection.answer())).toStrictEqual(OK);
  }
  for (let i = 0; i < 20; i++) expect(await gone(await api.connect())).toBe(true);
  expect(api.log.connectionErrors).toStrictEqual(Array.from({ length: 20 }, () => ({ kind: 'refused' })));
  await open[0]?.send(LAST);
  expect(whole(await open[0]!.answer())).toStrictEqual(OK);
  await open[0]?.closed();
  open[0]?.close();
  expect((await api.raw(LAST)).map(whole)).toStrictEqual([OK]);
});
