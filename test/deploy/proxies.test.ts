import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, get, type IncomingMessage } from 'node:http';
import { get as getOverTls } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../proof/failure/free-port.ts';
import { SERVER_LIMITS } from '../../src/adapters/http/server/limits.ts';
import { bash, blockOf, installation } from '../operations/page.ts';
import { KEY } from '../support/client.ts';
import { findOnPath } from '../support/mongod-binary.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { listenOnLoopback } from '../support/on-loopback.ts';
import { DELAY_UNTIL_SIGUSR2, type Program, ROOT, run } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { mongo } from '../support/shared-mongo.ts';
import { type Proxy, PROXIES } from './proxies.ts';
import { systemdUnit } from './systemd-unit.ts';
import { testDirectory } from '../support/test-directory.ts';
import { PAIR, ROOT_CERT } from '../support/tls/pem-files.ts';

const PET = '{"name":"Rex","categoryId":7}';
const POST = 'POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n';
/** Whether this piece, which an instance has read, belongs to a POST. Health checks of a proxy are GET requests. */
const isPost = (piece: string) => !piece.startsWith('GET');
const NO_ANSWER = 'the proxy got no answer from the service';
const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

/**
 * Runs a proxy with its configuration in `deploy` on this machine, in front of two instances.
 *
 * @param first the host and port of the first instance
 * @param second the host and port of the second instance
 * @param texts further texts of the configuration, each with its replacement
 */
async function startProxy(proxy: Proxy, first: string, second: string, texts: Record<string, string> = {}) {
  const [port, folder] = [await freePort(), await testDirectory()];
  let config = await readFile(join(ROOT, 'deploy', proxy.file), 'utf8');
  const instances = { '127.0.0.1:3001': first, '127.0.0.1:3002': second };
  for (const [from, to] of Object.entries({ ...proxy.localTexts(port, folder), ...instances, ...texts })) {
    expect(config).toContain(from);
    config = config.replaceAll(from, to);
  }
  const path = join(folder, basename(proxy.file));
  await writeFile(path, config);
  const program = run(dirname(proxy.file), proxy.run(path), { HOME: folder });
  const url = `http://127.0.0.1:${port}`;
  const isUp = async () => {
    if (program.hasEnded) throw new Error(`${program.stdout}${program.stderr}`);
    return (await fetch(`${url}/livez`)).ok;
  };
  await expect.poll(isUp).toBe(true);
  expect(program.stdout + program.stderr).not.toMatch(/WARNING|ALERT|\[warn\]|not formatted|deprecated/);
  /** Connects from an address of loopback. The proxy may close the connection immediately. */
  const dial = (localAddress: string): Socket => {
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    onTestFinished(() => void socket.destroy());
    // A reset of the connection is no failure: the proxy may close a connection in this way.
    return socket.on('error', () => {});
  };
  return { url, program, dial, folder };
}

for (const proxy of PROXIES) await describeWith(proxy, testsOf);
await describeWith(PROXIES[0], testsOfHaproxy);

/** Describes the tests of a proxy. They are left out if the proxy is not installed. */
async function describeWith(proxy: Proxy, tests: (proxy: Proxy) => void): Promise<void> {
  const name = dirname(proxy.file);
  const isMissing = (await findOnPath(name)) === undefined;
  describe.skipIf(isMissing)(`${name}${isMissing ? ` (left out: no ${name}: install it)` : ''}`, () => {
    tests(proxy);
  });
}

function testsOf(proxy: Proxy): void {
  const start = (first: string, second = first, texts = {}) => startProxy(proxy, first, second, texts);

  it('replaces the forwarded headers of a client, because the service trusts these headers', async () => {
    const service = await startService({ TRUST_PROXY: 'true' });
    const { host } = new URL(service.url);
    const { url } = await start(host);
    const forwarded = { 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '192.0.2.66' };
    const spoofed = { ...headers, ...forwarded, 'x-forwarded-proto': 'https' };
    for (let pet = 0; pet < 2; pet++) {
      await fetch(`${url}/v1/pets`, { method: 'POST', headers: spoofed, body: PET });
    }
    const answer = await fetch(`${url}/v1/pets?limit=1`, { headers: spoofed });
    expect(answer.headers.get('link')).toMatch(new RegExp(`^<${RegExp.escape(url)}/v1/pets`));
    // The proxy itself connects from 127.0.0.1, so the service knows 127.0.0.2 from a forwarded header.
    const request = get(`${url}/nothing`, { headers: spoofed, localAddress: '127.0.0.2' });
    await once(request, 'response');
    request.destroy();
    await expect
      .poll(() => service.log.find(({ status }) => status === 404))
      .toMatchObject({ client: '127.0.0.2' });
  });

  it('reports to the service whether the client uses TLS', async () => {
    const service = await startService({ TRUST_PROXY: 'true' });
    const { host } = new URL(service.url);
    const [port, file] = [await freePort(), join(await testDirectory(), 'pair.pem')];
    await writeFile(file, PAIR.cert + PAIR.key);
    const { url } = await start(host, host, proxy.tls(port, file));
    const spoofed = { host: 'petstore.example', 'x-forwarded-proto': 'http' };
    const address = { host: '127.0.0.1', port, servername: 'localhost', ca: ROOT_CERT, headers: spoofed };
    const [overTls] = (await once(getOverTls(address), 'response')) as [IncomingMessage];
    expect(await json(overTls)).toMatchObject({ docs: 'https://petstore.example/docs' });
    expect(overTls.headers['strict-transport-security']).toBe('max-age=31536000');
    const plain = await fetch(url, { headers: { 'x-forwarded-proto': 'https' } });
    expect(await plain.json()).toMatchObject({ docs: `${url}/docs` });
  });

  it('fails no request while the instances of one machine restart one after the other', async ({ skip }) => {
    if (mongo === undefined) skip('there is no MongoDB, which the instances would share');
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!, { migrated: false });
    const directory = await installation();
    // On `restart`, this script waits for a line of input. The real systemctl waits until the instance runs.
    const systemctl = '#!/bin/sh\necho "$@"\ncase $1 in restart) read -r line ;; esac\n';
    await writeFile(join(directory, 'commands/systemctl'), systemctl, { mode: 0o755 });
    const printed = await bash(blockOf('Start the services'), { DATABASE_URL }, directory).succeeded();
    expect(printed).toContain('enable --now petstore@3001 petstore@3002\n');
    const instances = [await unitInstance(DATABASE_URL), await unitInstance(DATABASE_URL)] as const;
    const running = [await instances[0].start(), await instances[1].start()];
    const { url, program, folder } = await start(instances[0].address, instances[1].address);
    const check = bash(blockOf('Start the proxy').replace('http://127.0.0.1:8080', url), {}, directory);
    expect(await check.succeeded()).toBe('[]');
    const steps = blockOf(`Restart the services${proxy.file === 'nginx/nginx.conf' ? ' behind nginx' : ''}`);
    const operator = bash(steps.replaceAll('/run/petstore-out', folder), {}, directory);
    const clientsEnd = new AbortController();
    onTestFinished(() => clientsEnd.abort());
    const answers: number[][] = [[], [], [], []];
    const clients = answers.map(async (statuses) => {
      while (!clientsEnd.signal.aborted) {
        statuses.push((await fetch(`${url}/v1/pets`, { method: 'POST', headers, body: PET })).status);
      }
    });
    /** Waits until each client has received `count` more answers. */
    const waitForAnswers = async (count: number) => {
      const counts = answers.map(({ length }) => length);
      await expect.poll(() => answers.every(({ length }, i) => length >= counts[i]! + count)).toBe(true);
    };
    for (const [index, { start: startAgain, address }] of instances.entries()) {
      await waitForAnswers(12);
      await operator.printed(new RegExp(`restart petstore@300${index + 1}\n`));
      const stopping = running[index]!;
      stopping.signal('SIGTERM');
      // The instance stops only on SIGUSR2: after the proxy has noticed, and after the last requests to this instance.
      const waitForNotice = (pattern: string) =>
        program.printed(new RegExp(pattern.replace('N', `${index + 1}`).replace('ADDRESS', address)));
      await waitForNotice(proxy.downPattern);
      await waitForAnswers(1);
      stopping.signal('SIGUSR2');
      expect(await stopping.ended, stopping.stderr).toStrictEqual({ code: 0, signal: null });
      await startAgain();
      await waitForNotice(proxy.upPattern);
      operator.write('\n');
    }
    await operator.succeeded();
    await waitForAnswers(12);
    clientsEnd.abort();
    await Promise.all(clients);
    expect(new Set(answers.flat())).toStrictEqual(new Set([201]));
    expect(await db.collection('pets').countDocuments()).toBe(answers.flat().length);
  });

  it('passes a request to the service only when its body is complete', async () => {
    const { address, pieces } = await startClosingInstance();
    const { dial } = await start(address);
    const slow = dial('127.0.0.2');
    slow.write(`${POST}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of PET) {
      slow.write(`1\r\n${byte}\r\n`);
      // This request gives the proxy time to read the byte.
      expect(await isServed(dial('127.0.0.3'))).toBe(true);
    }
    slow.write('0\r\n\r\n');
    await once(slow, 'data');
    // Some proxies send the head and the body in two pieces.
    const [head = '', ...body] = pieces.filter(isPost);
    expect(head + body.join('')).toContain(PET);
    expect(body.length).toBeLessThan(2);
  });

  it('sends a request only once when the instance closes the connection, and answers in the error format of the service', async () => {
    const [one, other] = [await startClosingInstance(), await startClosingInstance()];
    const { url } = await start(one.address, other.address);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const passedHeaders = { ...headers, traceparent, 'idempotency-key': '"a key"' };
    const answer = await fetch(`${url}/v1/pets`, { method: 'POST', headers: passedHeaders, body: PET });
    expect(answer).toMatchObject({ status: 502 });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toStrictEqual({ code: 'UNAVAILABLE', message: NO_ANSWER, status: 502 });
    const received = [...one.pieces, ...other.pieces].filter(isPost).join('');
    expect(received.split('POST ')).toHaveLength(2);
    expect(received.toLowerCase()).toContain(`traceparent: ${traceparent}\r\n`);
  });

  it('sends a POST to the other instance when the first instance accepts no connections', async () => {
    const [closed, { url: service }] = [await startClosingInstance(), await startService()];
    const { url } = await start(closed.address, new URL(service).host);
    closed.server.close();
    for (let pet = 0; pet < 8; pet++) {
      const answer = await fetch(`${url}/v1/pets`, { method: 'POST', headers, body: PET });
      expect(answer).toMatchObject({ status: 201 });
    }
  });

  it('lets the service answer a request that is too large', async () => {
    const { host } = new URL((await startService()).url);
    const { url } = await start(host);
    const body = await fetch(`${url}/v1/pets`, { method: 'POST', headers, body: PET.padEnd(65_537) });
    expect(await body.json()).toMatchObject({ status: 413, message: expect.stringContaining('65536') });
    const head = await fetch(url, { headers: { a: 'a'.repeat(17_000) } });
    expect(await head.json()).toMatchObject({ status: 431 });
  });

  it('closes the connection of a client whose request body does not end', async () => {
    const { address } = await startClosingInstance();
    const { dial } = await start(address, address, proxy.shortTimeouts);
    const slow = dial('127.0.0.2').resume();
    slow.write(`${POST}Content-Length: 9\r\n\r\n`);
    await new Promise((resolve) => slow.once('close', resolve));
  });

  it(`uses ${proxy.connectionCount} connections to an instance for four requests, and closes them before the instance does`, async () => {
    // In the shipped configurations, the timeout of an idle connection to an instance is 30 s: see `shortTimeouts`.
    expect(30_000).toBeLessThan(SERVER_LIMITS.keepAliveTimeoutMs);
    const usedSockets = new Set<Socket>();
    const server = createHttpServer(({ url, socket }, response) => {
      if (url === '/used') usedSockets.add(socket);
      response.end();
    });
    server.keepAliveTimeout = 0;
    const address = `127.0.0.1:${await listenOnLoopback(server)}`;
    const { url } = await start(address, address, proxy.shortTimeouts);
    for (let n = 0; n < 4; n++) await (await fetch(`${url}/used`)).text();
    expect(usedSockets.size).toBe(proxy.connectionCount);
    await expect.poll(() => [...usedSockets].every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('answers in the error format of the service when no instance is ready', async () => {
    const one = await startClosingInstance();
    const status = proxy.file === 'nginx/nginx.conf' ? 502 : 503;
    const { url } = await start(one.address);
    one.server.close();
    const ask = () => fetch(`${url}/v1/pets`, { headers });
    await expect.poll(async () => (await ask()).status).toBe(status);
    const answer = await ask();
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    const message = status === 503 ? 'no instance of the service is ready' : NO_ANSWER;
    expect(await answer.json()).toStrictEqual({ code: 'UNAVAILABLE', message, status });
  });
}

function testsOfHaproxy(proxy: Proxy): void {
  const start = (address: string, texts = {}) => startProxy(proxy, address, address, texts);

  it.each([
    ['have 250 connections', 250, {}],
    ['have 8 connections while all clients have many', 8, { 'fe_conn gt 2000': 'fe_conn gt 0' }],
    ['connect 2,000 times in 10 s', 20, { 'sc_conn_rate(0) gt 2000': 'sc_conn_rate(0) gt 20' }],
  ])('allows each address to %s, and closes further connections', async (_, count, texts) => {
    const { address } = await startClosingInstance();
    const { dial } = await start(address, texts);
    for (const localAddress of ['127.0.0.2', '127.0.0.3']) {
      const next = () => isServed(dial(localAddress));
      for (let open = 0; open < count; open++) expect(await next()).toBe(true);
      expect(await next()).toBe(false);
    }
  });

  it.each([
    [408, 'application/json', 'a body that does not end', `${POST}Content-Length: 9\r\n\r\n`],
    [408, 'text/html', 'a head that does not end', POST],
    [400, 'text/html', 'a head with 102 headers', `${POST}${'a:b\r\n'.repeat(101)}\r\n`],
    [400, '(?:text/html|application/json)', 'HTTP/2 without TLS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('sends the answer %i of type %s, without a request id, to %s', async (status, type, _, request) => {
    const { address } = await startClosingInstance();
    const { dial } = await start(address, { 'http-request 1m': 'http-request 100ms' });
    const socket = dial('127.0.0.2').setEncoding('latin1');
    socket.write(request);
    const [answer] = (await once(socket, 'data')) as [string];
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*^content-type: ${type}\\r$`, 'ims'));
    expect(answer).not.toMatch(/^x-request-id/im);
  });
}

/** Whether a proxy answers on a connection. HAProxy closes a connection that it refuses. */
async function isServed(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('data', () => resolve(true)).once('close', () => resolve(false));
  socket.write('GET /livez HTTP/1.1\r\nHost: petstore\r\n\r\n');
  return await promise;
}

/** An instance of the systemd unit. `start` resolves when systemd would call the instance started: /readyz answers. */
async function unitInstance(DATABASE_URL: string) {
  const { command, environment } = await systemdUnit(await freePort());
  const env = { ...environment, API_KEYS: KEY, DATABASE_URL, ...DELAY_UNTIL_SIGUSR2 };
  const program = command('ExecStart').replace(
    '/usr/local/bin/petstore',
    `${process.execPath} bin/petstore.js`,
  );
  const start = async (): Promise<Program> => {
    const service = run('bash', ['-c', program], env);
    const waiting = run('bash', ['-c', command('ExecStartPost')], env);
    expect(await waiting.ended, service.stderr).toStrictEqual({ code: 0, signal: null });
    return service;
  };
  return { address: `${env['HOST']}:${env['PORT']}`, start };
}

/**
 * Starts an instance that answers every GET, and closes the connection of every POST after it has read the POST. The
 * list `pieces` has all pieces that the instance has read.
 */
async function startClosingInstance() {
  const pieces: string[] = [];
  const server = createServer((socket) => {
    let request = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      pieces.push(piece);
      request += piece;
      if (request.startsWith('GET'))
        socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      else if (request.includes(PET)) socket.destroy();
    });
    socket.on('error', () => socket.destroy());
  });
  return { server, address: `127.0.0.1:${await listenOnLoopback(server)}`, pieces };
}
