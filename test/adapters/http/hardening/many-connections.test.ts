import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { problem, success, whole } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { run, runService, SERVICE, SERVICE_ENV } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { SPEAKS_TLS } from '../../../support/tls/pem-files.ts';

const OK = success(200, '{"status":"ok"}');
const TIMEOUT = problem(408, 'REQUEST_TIMEOUT', 'the request did not end in time');
const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

const LAST = LIVEZ.replace('Host', 'Connection: close\r\nHost');

/** Both ends of each connection are in this process, which also needs some other files. */
const files = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
/** A handshake costs both ends milliseconds. */
const WANTED = SPEAKS_TLS ? 300 : 2000;
const COUNT = files === 'unlimited' ? WANTED : Math.min(WANTED, Math.floor((Number(files) - 500) / 2));
if (COUNT < WANTED)
  console.warn(`only ${COUNT} connections instead of ${WANTED}: this machine allows ${files} files`);

/** How many sockets this process has, at either end. */
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

/** Resolves when this process has no more sockets than that. Sockets close in later iterations of the event loop. */
async function noMoreSocketsThan(count: number): Promise<void> {
  while (sockets() > count) await new Promise((resolve) => setImmediate(resolve));
}

const PART = 100;

/** Opens connections that the service has accepted, and sends these bytes on each of them. */
async function connections(api: Api, bytes: string): Promise<RawConnection[]> {
  const all: RawConnection[] = [];
  // In parts: beyond the backlog of the system, a client tries again after a second.
  while (all.length < COUNT) {
    const part = Array.from({ length: Math.min(PART, COUNT - all.length) }, async () => {
      const connection = await api.connect();
      // At once: on a busy machine, a connection without a request would time out before all are open.
      await connection.send(bytes);
      return connection;
    });
    all.push(...(await Promise.all(part)));
    // Connections are accepted in order.
    await api.raw(LAST);
  }
  return all;
}

/** Sends requests one after the other, each on a new connection, and expects an answer to each. */
async function expectAnswers(api: Api, requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) expect((await api.raw(LAST)).map(whole)).toStrictEqual([OK]);
}

describe(`${COUNT} connections`, () => {
  test.each([
    ['that send nothing', ''],
    ['that send half a request', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-'],
    ['that never send their body', 'POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n'],
  ])('%s: other clients are answered, these connections are closed, and none leaks', async (_, bytes) => {
    const before = sockets();
    {
      await using api = await startApi({ limits: { headersTimeoutMs: 1500, requestTimeoutMs: 1500 } });
      const all = await connections(api, bytes);
      await expectAnswers(api, 50);
      const answers = await Promise.all(all.map((connection) => connection.answer()));
      const expected = bytes.startsWith('POST')
        ? problem(405, 'METHOD_NOT_ALLOWED', 'this path allows GET, HEAD, OPTIONS', {
            allow: 'GET, HEAD, OPTIONS',
          })
        : TIMEOUT;
      expect(answers.map(whole)).toStrictEqual(answers.map(() => expected));
      await Promise.all(all.map((connection) => connection.closed()));
      for (const connection of all) connection.close();
      expect(await api.drain(5000)).toBe(0);
    }
    await noMoreSocketsThan(before);
  });

  test('that are idle after an answer: the same, without a further answer', async () => {
    const before = sockets();
    {
      await using api = await startApi({ limits: { keepAliveTimeoutMs: 1000 } });
      const all = await connections(api, LIVEZ);
      const answers = await Promise.all(all.map((connection) => connection.answer()));
      expect(answers.map(whole)).toStrictEqual(answers.map(() => OK));
      await expectAnswers(api, 50);
      await Promise.all(all.map((connection) => connection.closed()));
      for (const connection of all) connection.close();
      expect(await api.drain(5000)).toBe(0);
      expect(api.log.records).toHaveLength(COUNT + 50 + Math.ceil(COUNT / PART));
    }
    await noMoreSocketsThan(before);
  });

  test('that hang up: none leaks', async () => {
    const before = sockets();
    {
      // None of them may time out before all are open.
      await using api = await startApi({ limits: { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000 } });
      const all = await connections(api, LIVEZ.slice(0, 10));
      for (const connection of all) connection.abort();
      await expectAnswers(api, 10);
      expect(await api.drain(5000)).toBe(0);
      expect(api.log.records).toHaveLength(10 + Math.ceil(COUNT / PART));
      expect(api.log.failures).toStrictEqual([]);
    }
    await noMoreSocketsThan(before);
  });
});

describe('more connections than the limit', () => {
  const gone = async (connection: RawConnection) => (await connection.next()) === undefined;

  test('are closed at once and counted in the log, and there is room again once others are closed', async () => {
    await using api = await startApi({ limits: { maxConnections: 3 } });
    const open = await Promise.all(Array.from({ length: 3 }, () => api.connect()));
    for (const connection of open) {
      await connection.send(LIVEZ);
      expect(whole(await connection.answer())).toStrictEqual(OK);
    }
    for (let i = 0; i < 20; i++) expect(await gone(await api.connect())).toBe(true);
    expect(api.log.troubles).toStrictEqual([{ kind: 'refused', connections: 1 }]);
    await open[0]?.send(LAST);
    expect(whole(await open[0]!.answer())).toStrictEqual(OK);
    await open[0]?.closed();
    open[0]?.close();
    expect((await api.raw(LAST)).map(whole)).toStrictEqual([OK]);
  });

  test('of MAX_CONNECTIONS', async () => {
    const service = runService({ MAX_CONNECTIONS: '1', API_KEYS: 'a-key-of-the-tests' });
    const port = Number(new URL(await service.url()).port);
    const first = await RawConnection.open(port);
    await first.send(LIVEZ);
    expect(whole(await first.answer())).toStrictEqual(OK);
    const second = await RawConnection.open(port);
    expect(await gone(second)).toBe(true);
    expect(await service.logged('connections refused: as many as MAX_CONNECTIONS are open')).toMatchObject({
      level: 40,
      connections: 1,
    });
    for (const connection of [first, second]) connection.close();
  });
});

// libuv accepts a connection beyond the limit and closes it at once, without telling Node.
test('more connections than descriptors: the service logs it once, and accepts again once others close', async () => {
  const args = ['-c', 'ulimit -n 60; exec "$0" "$@"', process.execPath, ...SERVICE];
  const service = run('sh', args, { ...SERVICE_ENV, API_KEYS: 'a-key-of-the-tests' });
  const port = Number(new URL(await service.url()).port);
  const first = await RawConnection.open(port);
  await first.send(LIVEZ);
  expect(whole(await first.answer())).toStrictEqual(OK);

  const others: RawConnection[] = [];
  for (let i = 0; i < 60; i++) others.push(await RawConnection.open(port));
  await others.at(-1)?.closed();
  await first.send(LIVEZ);
  expect(whole(await first.answer())).toStrictEqual(OK);
  // Building the document on its first request needs no descriptor.
  await first.send(LIVEZ.replace('/livez', '/openapi.json'));
  expect((await first.answer()).status).toBe(200);
  const exhausted = 'out of file descriptors: new connections are closed without an answer';
  expect(await service.logged(exhausted)).toMatchObject({ level: 40 });

  for (const connection of others) connection.close();
  await service.logged('file descriptors are available again');
  expect(service.log.filter(({ msg }) => msg === exhausted)).toHaveLength(1);
  await first.send(LIVEZ);
  expect(whole(await first.answer())).toStrictEqual(OK);
  const late = await RawConnection.open(port);
  await late.send(LIVEZ);
  expect(whole(await late.answer())).toStrictEqual(OK);
  for (const connection of [first, late]) connection.close();
  service.signal('SIGTERM');
  expect(await service.ended).toStrictEqual({ code: 0, signal: null });
});
