import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Connections } from '../../../../src/adapters/http/server/connections.ts';
import type { Connection } from '../../../../src/adapters/http/server/connection.ts';
import {
  createLimitedServer,
  type LimitedServer,
} from '../../../../src/adapters/http/server/create-limited-server.ts';
import { SERVER_LIMITS } from '../../../../src/adapters/http/server/limits.ts';
import { MAX_BODY_BYTES } from '../../../../src/adapters/http/wire/limits.ts';
import { MemoryClient, settled } from '../../../support/memory-client.ts';

/** What a request takes besides its bytes. */
const REQUEST_BYTES = 4096;

const MIB = 1024 * 1024;

const LARGE = Buffer.alloc(100_000, 'x');

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const post = (path: string, headers: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const OFFER = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';

/** Connections in memory to Node's HTTP server. What the handler gets waits for the test to answer it. */
class Service {
  /** The targets of the requests, in the order in which they were handled. */
  readonly handled: string[] = [];
  parsed = 0;
  answersAtOnce = false;
  onHandled: (response: ServerResponse) => void = () => {};
  readonly connections = new Connections({
    handle: (request, response) => this.#handle(request, response),
    maxHeldBytes: Infinity,
    onCutOff: () => {},
  });
  readonly #server: LimitedServer;
  readonly #responses: ServerResponse[] = [];

  readonly #handle: RequestListener = (request, response) => {
    this.handled.push(request.url ?? '');
    this.#responses.push(response);
    this.onHandled(response);
    // As soon as the application can.
    if (this.answersAtOnce) queueMicrotask(() => this.answer());
  };

  constructor(server: LimitedServer) {
    this.#server = server;
    server.on('request', ({ socket }, answer) => {
      this.parsed++;
      this.connections.of(socket)!.accept(answer);
    });
    server.on('clientError', (_, socket) => (this.connections.of(socket)!.isStopped = true));
  }

  static async start(): Promise<Service> {
    return new Service(await createLimitedServer(SERVER_LIMITS, undefined));
  }

  connect(fields: object = {}): { readonly client: MemoryClient; readonly connection: Connection } {
    const [near, far] = duplexPair();
    const socket = Object.assign(near as Socket, fields);
    this.#server.emit('connection', socket);
    this.connections.add(socket);
    onTestFinished(() => void socket.destroy());
    return { client: new MemoryClient(far), connection: this.connections.of(socket)! };
  }

  /** Answers the oldest request without an answer. */
  answer(body: string | Buffer = 'x'): void {
    this.#responses.shift()!.end(body);
  }
}

describe('requests on a connection', () => {
  test('are handled one at a time, in their order', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    expect([connection.isAnswering, connection.latest]).toStrictEqual([false, undefined]);
    const paths = ['/1', '/2', '/3', '/4', '/5'];
    await client.send(paths.map((path) => get(path)).join(''));
    expect(service.handled).toStrictEqual(['/1']);
    expect(connection.isBacklogged).toBe(true);
    for (let answered = 1; answered < paths.length; answered++) {
      service.answer();
      await settled();
      expect(service.handled).toStrictEqual(paths.slice(0, answered + 1));
    }
    expect(connection.isBacklogged).toBe(false);
    expect([connection.isAnswering, connection.latest?.req.url]).toStrictEqual([true, '/5']);
    service.answer();
    await settled();
    expect([connection.isAnswering, client.announced]).toStrictEqual([false, Array(5).fill('keep-alive')]);
  });

  test('take turns with those on other connections', async () => {
    const service = await Service.start();
    service.answersAtOnce = true;
    const [a, b] = [service.connect(), service.connect()];
    a.client.socket.write(get('/a1') + get('/a2') + get('/a3'));
    await b.client.send(get('/b1') + get('/b2') + get('/b3'));
    expect(service.handled).toStrictEqual(['/a1', '/b1', '/a2', '/b2', '/a3', '/b3']);
  });

  test('that are alone wait for no turn', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    service.connections.takeTurn(() => void service.handled.push('another turn'));
    await client.send(get('/'));
    expect(service.handled).toStrictEqual(['/', 'another turn']);
  });

  test('may have a long body, which is read as the application reads it', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(post('/', 'Content-Length: 300000\r\n'));
    for (let i = 0; i < 3; i++) await client.send('x'.repeat(100_000));
    const { req } = connection.latest!;
    expect(req.readableLength).toBeLessThan(200_000);
    let received = 0;
    req.on('data', (bytes: Buffer) => (received += bytes.length));
    await settled();
    expect([received, req.complete]).toStrictEqual([300_000, true]);
  });

  test('wait in the socket while their client does not read', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    client.socket.pause();
    await client.send(get('/1'));
    service.answer('x'.repeat(200_000));
    await client.send(get('/2'));
    expect([connection.isBacklogged, service.handled]).toStrictEqual([true, ['/1']]);
    client.socket.resume();
    await settled();
    expect([connection.isBacklogged, service.handled]).toStrictEqual([false, ['/1', '/2']]);
  });

  test('are not handled once their client is gone', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(get('/1') + get('/2'));
    connection.socket.destroy();
    expect([connection.heldBytes, connection.isAnswering]).toStrictEqual([0, false]);
    service.answer();
    await settled();
    expect(service.handled).toStrictEqual(['/1']);
  });

  test('after "Connection: close" are dropped', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(get('/1', 'Connection: close\r\n') + get('/2'));
    await client.send(get('/3'));
    service.answer();
    await settled();
    await client.send(get('/4'));
    expect([service.handled, client.announced, client.hasEnded]).toStrictEqual([['/1'], ['close'], true]);
    expect([connection.isBacklogged, connection.socket.destroyed]).toStrictEqual([false, false]);
  });

  test('may come in pieces', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    const [first, second] = [get('/1'), get('/2')];
    for (const piece of [first.slice(0, 3), first.slice(3) + second.slice(0, 3)]) await client.send(piece);
    service.answer();
    await client.send(second.slice(3));
    expect(service.handled).toStrictEqual(['/1', '/2']);
  });

  test('of a client that has ended its side are all answered, and then the connection ends', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    client.socket.end(get('/1') + get('/2') + get('/3', `X-Long: ${'x'.repeat(300)}\r\n`));
    await settled();
    service.answersAtOnce = true;
    service.answer();
    await settled();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 200, 200], true]);
  });

  test('that wait for their turn when the client leaves are not handled', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    service.onHandled = (response) => response.once('finish', () => connection.socket.destroy());
    await client.send(get('/1') + get('/2'));
    service.answer();
    await settled();
    expect(service.handled).toStrictEqual(['/1']);
  });

  test.each([
    ['one piece', 1],
    ['two', 8],
  ])('beyond eight are dropped, and the eighth answer is the last: in %s', async (_, count) => {
    const service = await Service.start();
    const { client } = service.connect();
    const paths = ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8', '/9', '/10', '/11'];
    const requests = paths.map((path) => get(path));
    await client.send(requests.slice(0, count).join(''));
    await client.send(requests.slice(count).join(''));
    service.answersAtOnce = true;
    service.answer();
    await settled();
    expect(service.handled).toStrictEqual(paths.slice(0, 8));
    expect(client.announced).toStrictEqual([...Array(7).fill('keep-alive'), 'close']);
    expect(client.hasEnded).toBe(true);
  });

  test('are eight at most, and as many when those are answered', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    service.answersAtOnce = true;
    for (let i = 0; i < 3; i++) await client.send(get('/').repeat(8));
    expect(client.announced).toStrictEqual(Array(24).fill('keep-alive'));
  });

  // Node's parser would keep each of them, and answers with an error to what follows.
  test('beyond eight are not parsed, however many come at once', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(get('/').repeat(3000));
    const latest = connection.latest;
    await client.send(get('/'));
    expect(service.parsed).toBe(9);
    expect([connection.latest, connection.isStopped]).toStrictEqual([latest, true]);
    service.answersAtOnce = true;
    service.answer();
    await settled();
    await client.send(get('/').repeat(3000));
    expect([service.parsed, service.handled.length, client.hasEnded]).toStrictEqual([9, 8, true]);
    expect(connection.socket.readableLength).toBe(0);
  });
});

describe('a drain', () => {
  test('makes an answer the last one, unless more input is waiting', async () => {
    const service = await Service.start();
    const [idle, alone, waiting, late] = [0, 1, 2, 3].map(() => service.connect());
    await alone!.client.send(get('/alone'));
    await waiting!.client.send(get('/waiting'));
    await waiting!.client.send(get('/waiting'));
    await late!.client.send(get('/late'));
    service.connections.isDraining = true;
    await late!.client.send(get('/late'));
    service.answersAtOnce = true;
    for (let i = 0; i < 3; i++) service.answer();
    await settled();
    expect(alone!.client.announced).toStrictEqual(['close']);
    expect(waiting!.client.announced).toStrictEqual(['keep-alive', 'close']);
    expect(late!.client.announced).toStrictEqual(['keep-alive', 'close']);
    await idle!.client.send(get('/idle'));
    expect(idle!.client.announced).toStrictEqual(['close']);
  });

  test('makes the last of the requests in one piece the last', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    service.connections.isDraining = true;
    service.answersAtOnce = true;
    await client.send(get('/1') + get('/2') + get('/3'));
    expect(client.announced).toStrictEqual(['keep-alive', 'keep-alive', 'close']);
  });

  test('leaves room for a request behind the body that was missing', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    await client.send(post('/1', 'Content-Length: 5\r\n'));
    service.connections.isDraining = true;
    await client.send(`12345${get('/2')}`);
    service.answersAtOnce = true;
    service.answer();
    await settled();
    expect([service.handled, client.announced]).toStrictEqual([
      ['/1', '/2'],
      ['keep-alive', 'close'],
    ]);
  });

  test('leaves the end that the client has announced', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    await client.send(get('/1'));
    service.connections.isDraining = true;
    await client.send(get('/2', 'Connection: close\r\n'));
    service.answer();
    await settled();
    await client.send(get('/3'));
    service.answer();
    await settled();
    expect(client.announced).toStrictEqual(['keep-alive', 'close']);
    expect(service.handled).toStrictEqual(['/1', '/2']);
  });

  test('does not change an answer that is on its way', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(get('/1'));
    const { latest } = connection;
    latest!.flushHeaders();
    service.connections.isDraining = true;
    await client.send(get('/2'));
    expect(latest!.shouldKeepAlive).toBe(true);
    service.answersAtOnce = true;
    service.answer();
    await settled();
    expect(client.announced).toStrictEqual(['keep-alive', 'close']);
  });
});

// Node drops what follows a request that offers another protocol.
describe('an offer of another protocol', () => {
  const BODY = 'Content-Length: 5\r\n';
  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['alone', [get('/1', OFFER)], ['close']],
    ['with a body', [post('/1', OFFER + BODY), '12', '345'], ['close']],
    ['with its body in one piece', [`${post('/1', OFFER + BODY)}12345`], ['close']],
    ['behind another request, in one piece', [get('/0') + get('/1', OFFER)], ['keep-alive', 'close']],
    ['behind another request', [get('/0'), get('/1', OFFER)], ['keep-alive', 'close']],
    ['with requests behind it', [get('/1', OFFER) + get('/2').repeat(100), get('/3')], ['close']],
    ['with a body and a request behind it', [`${post('/1', OFFER + BODY)}12345${get('/2')}`], ['close']],
    ['with a request behind its body', [post('/1', OFFER + BODY), `12345${get('/2')}`], ['close']],
    ['with chunks', [post('/1', `${OFFER}Transfer-Encoding: chunked\r\n`), '0\r\n\r\nG'], ['close']],
    [
      'no offer, with a request behind it',
      [`${get('/1', 'Upgrade: h2c\r\n')}GE`, get('/2').slice(2)],
      Array(2).fill('keep-alive'),
    ],
    [
      'no offer either',
      [`${get('/1', 'Connection: keep-alive\r\nUpgrade: h2c\r\n')}GE`, get('/2').slice(2)],
      ['keep-alive', 'keep-alive'],
    ],
    [
      'no protocol',
      [`${get('/1', 'Connection: upgrade\r\n')}GE`, get('/2').slice(2)],
      ['keep-alive', 'keep-alive'],
    ],
    ['whose headers end in another piece', [get('/1', OFFER).slice(0, -2), '\r\nG'], ['close']],
    [
      'in a list, in capitals',
      [get('/1', 'Connection: keep-alive, UPGRADE\r\nUpgrade: h2c\r\n') + get('/2')],
      ['close'],
    ],
  ])('%s', async (_, pieces, announced) => {
    const service = await Service.start();
    const { client } = service.connect();
    for (const piece of pieces) await client.send(piece);
    service.answersAtOnce = true;
    service.answer();
    await settled();
    expect(client.announced).toStrictEqual(announced);
    expect(service.handled).toHaveLength(announced.length);
    expect(client.hasEnded).toBe(announced.includes('close'));
  });

  test('whose answer is being sent before its body is there', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(post('/1', OFFER + BODY));
    connection.latest!.flushHeaders();
    await client.send(`12345${get('/2')}`);
    expect(client.hasEnded).toBe(false);
    service.answer();
    await settled();
    expect([client.announced, client.hasEnded]).toStrictEqual([['close'], true]);
    expect(service.handled).toStrictEqual(['/1']);
  });

  test('whose answer is out before its body is there', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    await client.send(post('/1', OFFER + BODY));
    service.answer();
    await settled();
    await client.send(`12345${get('/2')}`);
    await client.send(get('/3'));
    expect([client.announced, client.hasEnded]).toStrictEqual([['close'], true]);
    expect(service.handled).toStrictEqual(['/1']);
  });
});

describe('the memory that a connection takes', () => {
  test.each([
    ['a body of that length', 'Content-Length: 100\r\n', 100],
    ['a body that is too long', 'Content-Length: 1000000\r\n', MAX_BODY_BYTES],
    ['chunks', 'Transfer-Encoding: chunked\r\n', MAX_BODY_BYTES],
    ['no body', '', 0],
  ])('while it waits for %s', async (_, headers, bytes) => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    expect(connection.heldBytes).toBe(0);
    await client.send(post('/', headers));
    expect(connection.heldBytes).toBe(bytes);
    connection.latest!.flushHeaders();
    await settled();
    expect(connection.heldBytes).toBe(0);
  });

  test('while its client does not read', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    client.socket.pause();
    await client.send(get('/'));
    service.answer('x'.repeat(100_000));
    await settled();
    const unread = connection.socket.writableLength;
    expect(unread).toBeGreaterThan(0);
    expect([connection.heldBytes, connection.isBacklogged]).toStrictEqual([unread + REQUEST_BYTES, true]);
    client.socket.resume();
    await settled();
    expect([connection.heldBytes, connection.isBacklogged]).toStrictEqual([0, false]);
  });

  // A TLS socket keeps the memory that its largest write took.
  test.each([
    ['plain HTTP', {}, [100_000]],
    ['TLS', { encrypted: true }, [...Array<number>(6).fill(16_384), 1696]],
  ])('while a long body is written over %s', async (_, fields, lengths) => {
    const service = await Service.start();
    const { client, connection } = service.connect(fields);
    const write = vi.spyOn(connection.socket, 'write');
    client.socket.pause();
    await client.send(get('/'));
    connection.latest!.setHeader('Content-Length', LARGE.length);
    service.answer(LARGE);
    await settled();
    const unread = connection.socket.writableLength + (connection.latest?.waitingBytes ?? 0);
    expect(connection.heldBytes).toBe(unread + REQUEST_BYTES);
    expect(unread).toBeGreaterThan(LARGE.length - 70_000);
    client.socket.resume();
    await settled();
    expect([connection.heldBytes, connection.isAnswering]).toStrictEqual([0, false]);
    expect(client.text.endsWith(String(LARGE))).toBe(true);
    const bodies = write.mock.calls.map(([chunk]) => chunk).filter((chunk) => Buffer.isBuffer(chunk));
    expect(bodies.map(({ length }) => length)).toStrictEqual(lengths);
  });

  test('while a long body is written over TLS to a client that leaves', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect({ encrypted: true });
    client.socket.pause();
    await client.send(get('/'));
    const closed = once(connection.latest!, 'close');
    service.answer(Buffer.alloc(MIB));
    connection.socket.destroy();
    await closed;
    expect([connection.heldBytes, connection.latest?.writableEnded]).toStrictEqual([0, false]);
  });

  test('while requests wait for the answer before them', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(get('/1') + get('/2') + get('/3'));
    await client.send(get('/4'));
    expect(connection.heldBytes).toBe(3 * REQUEST_BYTES);
  });

  test('while a body waits for the answer before its request', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    await client.send(get('/1') + post('/2', 'Content-Length: 1000\r\n'));
    await client.send('x'.repeat(600));
    expect(connection.heldBytes).toBe(REQUEST_BYTES + 1000);
  });
});

describe('a client that keeps sending after the last answer', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
  });

  test('has a second once it has read it', async () => {
    const service = await Service.start();
    const { client, connection } = service.connect();
    client.socket.pause();
    connection.socket.write(LARGE);
    for (let i = 0; i < 2; i++) connection.hangUp();
    await settled();
    expect(vi.getTimerCount()).toBe(0);
    client.socket.resume();
    await settled();
    expect([vi.getTimerCount(), client.text]).toStrictEqual([1, String(LARGE)]);
    vi.advanceTimersByTime(999);
    expect(connection.socket.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(connection.socket.destroyed).toBe(true);
  });

  test('and leaves: leaves no timer', async () => {
    const service = await Service.start();
    const { connection } = service.connect();
    connection.hangUp();
    await settled();
    expect(vi.getTimerCount()).toBe(1);
    connection.socket.destroy();
    await settled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ['plain HTTP: up to 16 MiB are dropped', {}, 16 * MIB - 4, 0],
    ['plain HTTP: the rest is not read', {}, 16 * MIB + 1, 4],
    ['TLS, which would read it anyway', { encrypted: true }, 16 * MIB + 1, 0],
  ])('over %s', async (_, fields, bytes, left) => {
    const service = await Service.start();
    const { client, connection } = service.connect(fields);
    await client.send(get('/', 'Connection: close\r\n'));
    service.answer();
    await settled();
    await client.send(get('/').padEnd(bytes));
    await client.send('more');
    expect([service.parsed, connection.socket.readableLength]).toStrictEqual([1, left]);
  });

  test.each([
    ['plain HTTP', {}],
    ['TLS', { encrypted: true }],
  ])('over %s, may send a MiB of a body that was not read, and has a second', async (_, fields) => {
    const service = await Service.start();
    const { client, connection } = service.connect(fields);
    await client.send(post('/', 'Content-Length: 10000000\r\n'));
    service.answer();
    await settled();
    await client.send('x'.repeat(MIB));
    expect(connection.isStopped).toBe(false);
    await client.send('x');
    await client.send('not read');
    expect([client.hasEnded, connection.socket.readableLength]).toStrictEqual([false, 8]);
    vi.advanceTimersByTime(1_000);
    expect(connection.socket.destroyed).toBe(true);
  });

  test('may send all of a short body that was not read, and another request', async () => {
    const service = await Service.start();
    const { client } = service.connect();
    service.answersAtOnce = true;
    for (const path of ['/1', '/2']) {
      await client.send(post(path, 'Content-Length: 600000\r\n'));
      await client.send('x'.repeat(600_000));
    }
    await client.send(get('/3'));
    expect([service.handled, client.hasEnded]).toStrictEqual([['/1', '/2', '/3'], false]);
  });
});
