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
import { onPath } from '../support/mongod-binary.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { onLoopback } from '../support/on-loopback.ts';
import { LONG_DELAY, type Program, ROOT, run } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { mongo } from '../support/shared-mongo.ts';
import { type Proxy, PROXIES } from './proxies.ts';
import { systemdUnit } from './systemd-unit.ts';
import { testDirectory } from '../support/test-directory.ts';
import { PAIR, ROOT_CERT } from '../support/tls/pem-files.ts';

const PET = '{"name":"Rex","categoryId":7}';
const POST = 'POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n';
/** Of what an instance reads, all that is no request of a check. */
const isPost = (piece: string) => !piece.startsWith('GET');
const NO_ANSWER = 'the proxy got no answer from the service';
const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

/**
 * Runs a proxy with its configuration in `deploy` on one machine, in front of two instances.
 *
 * @param others further texts of the configuration, and what takes their place
 */
async function startProxy(proxy: Proxy, one: string, other: string, others: Record<string, string> = {}) {
  const [port, folder] = [await freePort(), await testDirectory()];
  let config = await readFile(join(ROOT, 'deploy', proxy.file), 'utf8');
  const instances = { '127.0.0.1:3001': one, '127.0.0.1:3002': other };
  for (const [shipped, text] of Object.entries({ ...proxy.here(port, folder), ...instances, ...others })) {
    expect(config).toContain(shipped);
    config = config.replaceAll(shipped, text);
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
  /** Connects from an address of loopback. The proxy may close the connection at once. */
  const dial = (localAddress: string): Socket => {
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    onTestFinished(() => void socket.destroy());
    // A closed connection is one that was reset, too.
    return socket.on('error', () => {});
  };
  return { url, program, dial, folder };
}

for (const proxy of PROXIES) await describeWith(proxy, testsOf);
await describeWith(PROXIES[0], testsOfHaproxy);

/** The tests of a proxy, which are left out where it is not installed. */
async function describeWith(proxy: Proxy, tests: (proxy: Proxy) => void): Promise<void> {
  const name = dirname(proxy.file);
  const none = (await onPath(name)) === undefined;
  describe.skipIf(none)(`${name}${none ? ` (left out: no ${name}: install it)` : ''}`, () => {
    tests(proxy);
  });
}

function testsOf(proxy: Proxy): void {
  const start = (one: string, other = one, others = {}) => startProxy(proxy, one, other, others);

  it('replaces the forwarded headers that the service trusts', async () => {
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
    // HAProxy connects to the service from another address.
    const asking = get(`${url}/nothing`, { headers: spoofed, localAddress: '127.0.0.2' });
    await once(asking, 'response');
    asking.destroy();
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
    const lie = { host: 'petstore.example', 'x-forwarded-proto': 'http' };
    const address = { host: '127.0.0.1', port, servername: 'localhost', ca: ROOT_CERT, headers: lie };
    const [overTls] = (await once(getOverTls(address), 'response')) as [IncomingMessage];
    expect(await json(overTls)).toMatchObject({ docs: 'https://petstore.example/docs' });
    expect(overTls.headers['strict-transport-security']).toBe('max-age=31536000');
    const plain = await fetch(url, { headers: { 'x-forwarded-proto': 'https' } });
    expect(await plain.json()).toMatchObject({ docs: `${url}/docs` });
  });

  it('fails no request while the instances of one machine restart one after the other', async ({ skip }) => {
    if (mongo === undefined) skip('no MongoDB, which the instances share');
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!, { migrated: false });
    const directory = await installation();
    // It waits for a line, as the real one waits for the instance.
    const systemctl = '#!/bin/sh\necho "$@"\ncase $1 in restart) read -r line ;; esac\n';
    await writeFile(join(directory, 'commands/systemctl'), systemctl, { mode: 0o755 });
    const prepared = await bash(blockOf('Start the services'), { DATABASE_URL }, directory).succeeded();
    expect(prepared).toContain('enable --now petstore@3001 petstore@3002\n');
    const instances = [await instance(DATABASE_URL), await instance(DATABASE_URL)] as const;
    const running = [await instances[0].start(), await instances[1].start()];
    const { url, program, folder } = await start(instances[0].address, instances[1].address);
    const checked = bash(blockOf('Start the proxy').replace('http://127.0.0.1:8080', url), {}, directory);
    expect(await checked.succeeded()).toBe('[]');
    const steps = blockOf(`Restart the services${proxy.file === 'nginx/nginx.conf' ? ' behind nginx' : ''}`);
    const operator = bash(steps.replaceAll('/run/petstore-out', folder), {}, directory);
    const over = new AbortController();
    onTestFinished(() => over.abort());
    const answers: number[][] = [[], [], [], []];
    const clients = answers.map(async (statuses) => {
      while (!over.signal.aborted) {
        statuses.push((await fetch(`${url}/v1/pets`, { method: 'POST', headers, body: PET })).status);
      }
    });
    /** Waits until each client has had so many answers more. */
    const pass = async (count: number) => {
      const before = answers.map(({ length }) => length);
      await expect.poll(() => answers.every(({ length }, i) => length >= before[i]! + count)).toBe(true);
    };
    for (const [index, { start: startAgain, address }] of instances.entries()) {
      await pass(12);
      await operator.printed(new RegExp(`restart petstore@300${index + 1}\n`));
      const stopping = running[index]!;
      stopping.signal('SIGTERM');
      // The delay is longer than the checks and the last requests to this instance take.
      const noticed = (text: string) =>
        program.printed(new RegExp(text.replace('N', `${index + 1}`).replace('ADDRESS', address)));
      await noticed(proxy.down);
      await pass(1);
      stopping.signal('SIGUSR2');
      expect(await stopping.ended, stopping.stderr).toStrictEqual({ code: 0, signal: null });
      await startAgain();
      await noticed(proxy.up);
      operator.write('\n');
    }
    await operator.succeeded();
    await pass(12);
    over.abort();
    await Promise.all(clients);
    expect(new Set(answers.flat())).toStrictEqual(new Set([201]));
    expect(await db.collection('pets').countDocuments()).toBe(answers.flat().length);
  });

  it('passes a request to the service only when its body is complete', async () => {
    const { address, pieces } = await hangingUp();
    const { dial } = await start(address);
    const slow = dial('127.0.0.2');
    slow.write(`${POST}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of PET) {
      slow.write(`1\r\n${byte}\r\n`);
      // Meanwhile the proxy reads the byte.
      expect(await isServed(dial('127.0.0.3'))).toBe(true);
    }
    slow.write('0\r\n\r\n');
    await once(slow, 'data');
    // Some proxies send the head before the body.
    const [head = '', ...body] = pieces.filter(isPost);
    expect(head + body.join('')).toContain(PET);
    expect(body.length).toBeLessThan(2);
  });

  it('sends no request twice, and answers an error in the form of the service', async () => {
    const [one, other] = [await hangingUp(), await hangingUp()];
    const { url } = await start(one.address, other.address);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const passed = { ...headers, traceparent, 'idempotency-key': '"a key"' };
    const answer = await fetch(`${url}/v1/pets`, { method: 'POST', headers: passed, body: PET });
    expect(answer).toMatchObject({ status: 502 });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toStrictEqual({ code: 'UNAVAILABLE', message: NO_ANSWER, status: 502 });
    const sent = [...one.pieces, ...other.pieces].filter(isPost).join('');
    expect(sent.split('POST ')).toHaveLength(2);
    expect(sent.toLowerCase()).toContain(`traceparent: ${traceparent}\r\n`);
  });

  it('sends a POST to the other instance when the first one accepts no connection', async () => {
    const [dead, { url: service }] = [await hangingUp(), await startService()];
    const { url } = await start(dead.address, new URL(service).host);
    dead.server.close();
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

  it('closes the connection of a body that does not end', async () => {
    const { address } = await hangingUp();
    const { dial } = await start(address, address, proxy.brief);
    const slow = dial('127.0.0.2').resume();
    slow.write(`${POST}Content-Length: 9\r\n\r\n`);
    await new Promise((resolve) => slow.once('close', resolve));
  });

  it(`uses ${proxy.connections} connections to an instance for four requests, and closes them before the instance does`, async () => {
    // The shipped text in `brief` says 30 s.
    expect(30_000).toBeLessThan(SERVER_LIMITS.keepAliveTimeoutMs);
    const used = new Set<Socket>();
    const server = createHttpServer(({ url, socket }, response) => {
      if (url === '/used') used.add(socket);
      response.end();
    });
    server.keepAliveTimeout = 0;
    const address = `127.0.0.1:${await onLoopback(server)}`;
    const { url } = await start(address, address, proxy.brief);
    for (let asked = 0; asked < 4; asked++) await (await fetch(`${url}/used`)).text();
    expect(used.size).toBe(proxy.connections);
    await expect.poll(() => [...used].every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('answers in the form of the service when no instance is ready', async () => {
    const one = await hangingUp();
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
  const start = (address: string, others = {}) => startProxy(proxy, address, address, others);

  it.each([
    ['have 250 connections', 250, {}],
    ['have 8 connections while there are many', 8, { 'fe_conn gt 2000': 'fe_conn gt 0' }],
    ['connect 2,000 times in 10 s', 20, { 'sc_conn_rate(0) gt 2000': 'sc_conn_rate(0) gt 20' }],
  ])('allows each address %s, and closes further connections', async (_, count, others) => {
    const { address } = await hangingUp();
    const { dial } = await start(address, others);
    for (const localAddress of ['127.0.0.2', '127.0.0.3']) {
      const next = () => isServed(dial(localAddress));
      for (let open = 0; open < count; open++) expect(await next()).toBe(true);
      expect(await next()).toBe(false);
    }
  });

  it.each([
    ['a body that does not end', 408, 'application/json', `${POST}Content-Length: 9\r\n\r\n`],
    ['a head that does not end', 408, 'text/html', POST],
    ['a head with 102 headers', 400, 'text/html', `${POST}${'a:b\r\n'.repeat(101)}\r\n`],
    ['HTTP/2 without TLS', 400, '(?:text/html|application/json)', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('answers %s with %i, as %s, without a request id', async (_, status, form, request) => {
    const { address } = await hangingUp();
    const { dial } = await start(address, { 'http-request 1m': 'http-request 100ms' });
    const socket = dial('127.0.0.2').setEncoding('latin1');
    socket.write(request);
    const [answer] = (await once(socket, 'data')) as [string];
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*^content-type: ${form}\\r$`, 'ims'));
    expect(answer).not.toMatch(/^x-request-id/im);
  });
}

/** Whether a proxy answers on a connection. HAProxy closes those that it refuses. */
async function isServed(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('data', () => resolve(true)).once('close', () => resolve(false));
  socket.write('GET /livez HTTP/1.1\r\nHost: petstore\r\n\r\n');
  return await promise;
}

/** An instance of the systemd unit. Its start resolves when systemd would call it started: with /readyz. */
async function instance(DATABASE_URL: string) {
  const { command, environment } = await systemdUnit(await freePort());
  const env = { ...environment, API_KEYS: KEY, DATABASE_URL, ...LONG_DELAY };
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

/** An instance that is ready, and hangs up on every POST after it has read it. It keeps the pieces that it reads. */
async function hangingUp() {
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
  return { server, address: `127.0.0.1:${await onLoopback(server)}`, pieces };
}
