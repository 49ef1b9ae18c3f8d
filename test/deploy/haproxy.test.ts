import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { get as getOverTls } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../proof/failure/free-port.ts';
import { KEY } from '../support/client.ts';
import { onPath } from '../support/mongod-binary.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { onLoopback } from '../support/on-loopback.ts';
import { LONG_DELAY, type Program, ROOT, run } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { mongo } from '../support/shared-mongo.ts';
import { systemdUnit } from './systemd-unit.ts';
import { testDirectory } from '../support/test-directory.ts';
import { PAIR, ROOT_CERT } from '../support/tls/pem-files.ts';

const haproxy = await onPath('haproxy');
const CONFIG = join(ROOT, 'deploy/haproxy/haproxy.cfg');
const PET = '{"name":"Rex","categoryId":7}';
const POST = 'POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n';
/** Of what an instance reads, all that is no request of a check. */
const isPost = (piece: string) => !piece.startsWith('GET');

const none = haproxy === undefined;

describe.skipIf(none)(`HAProxy${none ? ' (left out: no haproxy: install it)' : ''}`, () => {
  /**
   * Runs HAProxy with the configuration of `deploy` on one machine. After a failed check, the next ones follow faster. A
   * check never fails because the machine is slow.
   *
   * @param others further texts of the configuration, and what takes their place
   */
  async function start(PETSTORE_1: string, PETSTORE_2: string, others: Record<string, string> = {}) {
    const port = await freePort();
    const file = join(await testDirectory(), 'haproxy.cfg');
    let config = await readFile(CONFIG, 'utf8');
    const checks = { 'inter 2s': 'inter 2s fastinter 100ms downinter 100ms' };
    const timeouts = { 'timeout connect 1s': 'timeout connect 30s\n  timeout check 30s' };
    for (const [shipped, other] of Object.entries({ ...checks, ...timeouts, ...others })) {
      expect(config).toContain(shipped);
      config = config.replace(shipped, other);
    }
    await writeFile(file, config);
    const proxy = run(haproxy ?? '', ['-f', file], { BIND: `127.0.0.1:${port}`, PETSTORE_1, PETSTORE_2 });
    const url = `http://127.0.0.1:${port}`;
    const isUp = async () => {
      if (proxy.hasEnded) throw new Error(`${proxy.stdout}${proxy.stderr}`);
      return (await fetch(`${url}/livez`)).ok;
    };
    await expect.poll(isUp).toBe(true);
    /** Connects from an address of loopback. HAProxy may close the connection at once. */
    const dial = (localAddress: string): Socket => {
      const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
      onTestFinished(() => void socket.destroy());
      // A closed connection is one that was reset, too.
      return socket.on('error', () => {});
    };
    return { url, proxy, dial };
  }

  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

  it('accepts the configuration without a warning', async () => {
    const check = run(haproxy ?? '', ['-c', '-f', CONFIG]);
    // `docker compose` gives the names.
    expect(await check.ended, check.stderr).toStrictEqual({ code: 0, signal: null });
    expect(check.stderr.replaceAll(/^.*could not resolve address.*$/gm, '')).not.toMatch(/WARNING|ALERT/);
  });

  it('replaces the headers that the service believes', async () => {
    const service = await startService({ TRUST_PROXY: 'true' });
    const { host } = new URL(service.url);
    const { url } = await start(host, host);
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

  it('passes on whether the client spoke TLS with it', async () => {
    const service = await startService({ TRUST_PROXY: 'true' });
    const { host } = new URL(service.url);
    const [port, file] = [await freePort(), join(await testDirectory(), 'pair.pem')];
    await writeFile(file, PAIR.cert + PAIR.key);
    const bind = `bind 127.0.0.1:${port} ssl crt ${file}\n`;
    const { url } = await start(host, host, { 'bind "': `${bind}  bind "` });
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
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!);
    const instances = [await instance(DATABASE_URL), await instance(DATABASE_URL)] as const;
    const running = [await instances[0].start(), await instances[1].start()];
    const { url, proxy } = await start(instances[0].address, instances[1].address);
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
    for (const [index, { start: startAgain }] of instances.entries()) {
      await pass(12);
      const stopping = running[index]!;
      stopping.signal('SIGTERM');
      // The delay is longer than the checks and the last requests to this instance take.
      await proxy.printed(new RegExp(`Server petstore/petstore-${index + 1} is DOWN`));
      await pass(1);
      stopping.signal('SIGUSR2');
      expect(await stopping.ended, stopping.stderr).toStrictEqual({ code: 0, signal: null });
      await startAgain();
      await proxy.printed(new RegExp(`Server petstore/petstore-${index + 1} is UP`));
    }
    await pass(12);
    over.abort();
    await Promise.all(clients);
    expect(new Set(answers.flat())).toStrictEqual(new Set([201]));
    expect(await db.collection('pets').countDocuments()).toBe(answers.flat().length);
  });

  /** Whether HAProxy answers on a connection. It closes those that it refuses. */
  async function isServed(socket: Socket): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    socket.write('GET /livez HTTP/1.1\r\nHost: petstore\r\n\r\n');
    return await promise;
  }

  it.each([
    ['have 250 connections', 250, {}],
    ['have 8 connections while there are many', 8, { 'fe_conn gt 2000': 'fe_conn gt 0' }],
    ['connect 2,000 times in 10 s', 20, { 'sc_conn_rate(0) gt 2000': 'sc_conn_rate(0) gt 20' }],
  ])('lets each address %s, and closes further ones', async (_, count, others) => {
    const { address } = await hangingUp();
    const { dial } = await start(address, address, others);
    for (const localAddress of ['127.0.0.2', '127.0.0.3']) {
      const next = () => isServed(dial(localAddress));
      for (let open = 0; open < count; open++) expect(await next()).toBe(true);
      expect(await next()).toBe(false);
    }
  });

  it('passes a request on when its body is complete, and in one piece', async () => {
    const { address, pieces } = await hangingUp();
    const { dial } = await start(address, address, { 'http-request 10s': 'http-request 1m' });
    const slow = dial('127.0.0.2');
    slow.write(`${POST}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of PET) {
      slow.write(`1\r\n${byte}\r\n`);
      // Meanwhile HAProxy reads the byte.
      expect(await isServed(dial('127.0.0.3'))).toBe(true);
    }
    slow.write('0\r\n\r\n');
    await once(slow, 'data');
    expect(pieces.filter(isPost)).toStrictEqual([expect.stringContaining(`\r\n${PET}\r\n`)]);
  });

  it.each([
    ['a body that does not end', 408, 'application/json', `${POST}Content-Length: 9\r\n\r\n`],
    ['a head that does not end', 408, 'text/html', POST],
    ['a head with 102 headers', 400, 'text/html', `${POST}${'a:b\r\n'.repeat(101)}\r\n`],
    ['HTTP/2 without TLS', 400, '(?:text/html|application/json)', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('answers %s with %i, as %s, without a request id', async (_, status, form, request) => {
    const { address } = await hangingUp();
    const { dial } = await start(address, address, { 'http-request 10s': 'http-request 100ms' });
    const socket = dial('127.0.0.2').setEncoding('latin1');
    socket.write(request);
    const [answer] = (await once(socket, 'data')) as [string];
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*^content-type: ${form}\\r$`, 'ims'));
    expect(answer).not.toMatch(/^x-request-id/im);
  });

  it('sends no request twice, and answers in the form of the service', async () => {
    const [one, other] = [await hangingUp(), await hangingUp()];
    const { url } = await start(one.address, other.address);
    const answer = await fetch(`${url}/v1/pets`, { method: 'POST', headers, body: PET });
    expect(answer).toMatchObject({ status: 502 });
    expect(answer.headers.get('content-type')).toBe('application/json');
    const message = 'the connection to the service was lost';
    expect(await answer.json()).toStrictEqual({ code: 'UNAVAILABLE', message, status: 502 });
    expect([...one.pieces, ...other.pieces].filter(isPost)).toHaveLength(1);
  });

  it('answers 503 when no instance is ready', async () => {
    const one = await hangingUp();
    const { url } = await start(one.address, one.address);
    one.server.close();
    const ask = () => fetch(`${url}/v1/pets`, { headers });
    await expect.poll(async () => (await ask()).status).toBe(503);
    const answer = await ask();
    expect(answer.headers.get('retry-after')).toBe('1');
    const message = 'no instance of the service is ready';
    expect(await answer.json()).toStrictEqual({ code: 'UNAVAILABLE', message, status: 503 });
  });
});

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
      if (request.startsWith('GET')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      else if (request.includes(PET)) socket.destroy();
    });
    socket.on('error', () => socket.destroy());
  });
  return { server, address: `127.0.0.1:${await onLoopback(server)}`, pieces };
}
