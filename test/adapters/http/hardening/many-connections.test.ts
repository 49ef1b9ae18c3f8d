import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { problem, success, whole } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { run, runService, SERVICE } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';

const OK = success(200, '{"status":"ok"}');
const TIMEOUT = problem(408, 'REQUEST_TIMEOUT', 'the request did not end in time');
const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

const LAST = LIVEZ.replace('Host', 'Connection: close\r\nHost');

/** Both ends of each connection are in this process, which needs some more files for itself. */
const files = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
const COUNT = files === 'unlimited' ? 2000 : Math.min(2000, Math.floor((Number(files) - 500) / 2));
if (COUNT < 2000)
  console.warn(`only ${COUNT} connections instead of 2000: this machine allows ${files} files`);

/** How many sockets this process has, at either end. */
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

/** Resolves when this process has no more sockets than that; which close in a turn of their own. */
async function noMoreSocketsThan(count: number): Promise<void> {
  while (sockets() > count) await new Promise((resolve) => setImmediate(resolve));
}

const PART = 100;

/** Connections that the service has taken. */
async function connections(api: Api): Promise<RawConnection[]> {
  const all: RawConnection[] = [];
  // In parts: no more than 511 can wait to be taken, and whoever comes then tries again after a second.
  while (all.length < COUNT) {
    const part = Array.from({ length: Math.min(PART, COUNT - all.length) }, () => api.connect());
    all.push(...(await Promise.all(part)));
    // Connections are taken in their order.
    await api.raw(LAST);
  }
  return all;
}

/** One at a time, each on a connection of its own; the longest that one has taken, in milliseconds. */
async function slowest(api: Api, requests: number): Promise<number> {
  let most = 0;
  for (let i = 0; i < requests; i++) {
    const started = performance.now();
    const answers = await api.raw(LAST);
    expect(answers.map(whole)).toStrictEqual([OK]);
    most = Math.max(most, performance.now() - started);
  }
  return most;
}

/** A request takes about a millisecond. This is for a machine so busy that a connection is only taken on its second try. */
const PROMPT = 3000;

describe(`${COUNT} connections`, { timeout: 30_000 }, () => {
  test.each([
    ['that say nothing', ''],
    ['that have begun to say something', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-'],
    ['with a body that does not come', 'POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n'],
  ])('%s: others are answered, these are closed, and none is left', async (_, bytes) => {
    const before = sockets();
    {
      await using api = await startApi({ limits: { headersTimeoutMs: 1500, requestTimeoutMs: 1500 } });
      const all = await connections(api);
      await Promise.all(all.map((connection) => connection.send(bytes)));
      expect(await slowest(api, 50)).toBeLessThan(PROMPT);
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

  test('that have had their answer: the same, without a word', async () => {
    const before = sockets();
    {
      await using api = await startApi({ limits: { keepAliveTimeoutMs: 1000 } });
      const all = await connections(api);
      await Promise.all(all.map((connection) => connection.send(LIVEZ)));
      const answers = await Promise.all(all.map((connection) => connection.answer()));
      expect(answers.map(whole)).toStrictEqual(answers.map(() => OK));
      expect(await slowest(api, 50)).toBeLessThan(PROMPT);
      await Promise.all(all.map((connection) => connection.closed()));
      for (const connection of all) connection.close();
      expect(await api.drain(5000)).toBe(0);
      expect(api.log.records).toHaveLength(COUNT + 50 + Math.ceil(COUNT / PART));
    }
    await noMoreSocketsThan(before);
  });

  test('that hang up: none is left', async () => {
    const before = sockets();
    {
      await using api = await startApi();
      const all = await connections(api);
      await Promise.all(all.map((connection) => connection.send(LIVEZ.slice(0, 10))));
      for (const connection of all) connection.abort();
      expect(await slowest(api, 10)).toBeLessThan(PROMPT);
      expect(await api.drain(5000)).toBe(0);
      expect(api.log.records).toHaveLength(10 + Math.ceil(COUNT / PART));
      expect(api.log.failures).toStrictEqual([]);
    }
    await noMoreSocketsThan(before);
  });
});

describe('more connections than there may be', () => {
  const gone = async (connection: RawConnection) => (await connection.next()) === undefined;

  test('are closed at once, the log says how many, and there is room again when others are gone', async () => {
    await using api = await startApi({ limits: { maxConnections: 3 } });
    const taken = await Promise.all(Array.from({ length: 3 }, () => api.connect()));
    for (const connection of taken) {
      await connection.send(LIVEZ);
      expect(whole(await connection.answer())).toStrictEqual(OK);
    }
    for (let i = 0; i < 20; i++) expect(await gone(await api.connect())).toBe(true);
    expect(api.log.troubles).toStrictEqual([{ kind: 'refused', connections: 1 }]);
    await taken[0]?.send(LAST);
    expect(whole(await taken[0]!.answer())).toStrictEqual(OK);
    await taken[0]?.closed();
    taken[0]?.close();
    expect((await api.raw(LAST)).map(whole)).toStrictEqual([OK]);
  });

  test('than MAX_CONNECTIONS', async () => {
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

// libuv takes what is over the limit and hangs up on it at once; Node does not hear of it.
test('more connections than the process may have files: it goes on, says so once, and takes new ones when others are gone', async () => {
  const args = ['-c', 'ulimit -n 60; exec "$0" "$@"', process.execPath, ...SERVICE];
  const service = run('sh', args, { PORT: '0', DATABASE_URL: 'memory:', API_KEYS: 'a-key-of-the-tests' });
  const port = Number(new URL(await service.url()).port);
  const first = await RawConnection.open(port);
  await first.send(LIVEZ);
  expect(whole(await first.answer())).toStrictEqual(OK);

  const others: RawConnection[] = [];
  for (let i = 0; i < 60; i++) others.push(await RawConnection.open(port));
  await others.at(-1)?.closed();
  await first.send(LIVEZ);
  expect(whole(await first.answer())).toStrictEqual(OK);
  // What is made when it is first asked for needs no file.
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
