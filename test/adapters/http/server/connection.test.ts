import { describe, expect, test } from 'vitest';
import { settled } from '../../../support/memory-client.ts';
import { connected, get, post, Service } from './in-memory-connections.ts';

describe('requests on a connection', () => {
  test('are handled one at a time, in their order', async () => {
    const { service, client, connection } = await connected();
    expect([connection.isAnswering, connection.latest]).toStrictEqual([false, undefined]);
    const paths = ['/1', '/2', '/3', '/4', '/5'];
    await client.send(paths.map((path) => get(path)).join(''));
    expect(service.handled).toStrictEqual(['/1']);
    expect(connection.isBacklogged).toBe(true);
    for (let answered = 1; answered < paths.length; answered++) {
      await service.answer();
      expect(service.handled).toStrictEqual(paths.slice(0, answered + 1));
    }
    expect(connection.isBacklogged).toBe(false);
    expect([connection.isAnswering, connection.latest?.req.url]).toStrictEqual([true, '/5']);
    await service.answer();
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
    const { service, client } = await connected();
    service.connections.runInTurn(() => void service.handled.push('another turn'));
    await client.send(get('/'));
    expect(service.handled).toStrictEqual(['/', 'another turn']);
  });

  test('may have a long body, which is read as the application reads it', async () => {
    const { client, connection } = await connected(post('/', 'Content-Length: 300000\r\n'));
    for (let i = 0; i < 3; i++) await client.send('x'.repeat(100_000));
    const { req } = connection.latest!;
    expect(req.readableLength).toBeLessThan(200_000);
    let received = 0;
    req.on('data', (bytes: Buffer) => (received += bytes.length));
    await settled();
    expect([received, req.complete]).toStrictEqual([300_000, true]);
  });

  test('wait in the socket while their client does not read', async () => {
    const { service, client, connection } = await connected();
    client.socket.pause();
    await client.send(get('/1'));
    void service.answer('x'.repeat(200_000));
    await client.send(get('/2'));
    expect([connection.latest?.req.url, connection.isBacklogged]).toStrictEqual(['/1', true]);
    client.socket.resume();
    await settled();
    expect([connection.isBacklogged, service.handled]).toStrictEqual([false, ['/1', '/2']]);
  });

  test('are not handled once their client is gone', async () => {
    const { service, connection } = await connected(get('/1') + get('/2'));
    connection.socket.destroy();
    expect([connection.heldBytes, connection.isAnswering]).toStrictEqual([0, false]);
    await service.answer();
    expect(service.handled).toStrictEqual(['/1']);
  });

  test('after "Connection: close" are dropped', async () => {
    const { service, client, connection } = await connected(get('/1', 'Connection: close\r\n') + get('/2'));
    await client.send(get('/3'));
    // Not read before the answer, however much it is.
    expect(connection.isBacklogged).toBe(true);
    await service.answer();
    await client.send(get('/4'));
    expect([service.handled, client.announced, client.hasEnded]).toStrictEqual([['/1'], ['close'], true]);
    expect([connection.isBacklogged, connection.socket.destroyed]).toStrictEqual([false, false]);
  });

  test('of a client that has ended its side are all answered, and then the connection ends', async () => {
    const { service, client } = await connected();
    client.socket.end(get('/1') + get('/2') + get('/3', `X-Long: ${'x'.repeat(300)}\r\n`));
    await settled();
    await service.answerAll();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 200, 200], true]);
  });

  test('that wait for their turn when the client leaves are not handled', async () => {
    const { service, client, connection } = await connected();
    service.onHandled = (response) => response.once('finish', () => connection.socket.destroy());
    await client.send(get('/1') + get('/2'));
    await service.answer();
    expect(service.handled).toStrictEqual(['/1']);
  });

  test.each([
    ['one piece', 1],
    ['two', 8],
  ])('beyond eight are dropped, and the eighth answer is the last: in %s', async (_, count) => {
    const { service, client } = await connected();
    const paths = ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8', '/9', '/10', '/11'];
    const requests = paths.map((path) => get(path));
    await client.send(requests.slice(0, count).join(''));
    await client.send(requests.slice(count).join(''));
    await service.answerAll();
    expect(service.handled).toStrictEqual(paths.slice(0, 8));
    expect(client.announced).toStrictEqual([...Array(7).fill('keep-alive'), 'close']);
    expect(client.hasEnded).toBe(true);
  });

  test('are eight at most, and as many when those are answered', async () => {
    const { service, client } = await connected();
    service.answersAtOnce = true;
    for (let i = 0; i < 3; i++) await client.send(get('/').repeat(8));
    expect(client.announced).toStrictEqual(Array(24).fill('keep-alive'));
  });

  // Node's parser would keep each of them, and answers with an error to what follows.
  test('beyond eight are not parsed, however many come at once', async () => {
    const { service, client, connection } = await connected(get('/').repeat(3000));
    const latest = connection.latest;
    await client.send(get('/'));
    expect(service.parsed).toBe(9);
    expect([connection.latest, connection.isStopped]).toStrictEqual([latest, true]);
    await service.answerAll();
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
    for (let i = 0; i < 3; i++) void service.answer();
    await settled();
    expect(alone!.client.announced).toStrictEqual(['close']);
    expect(waiting!.client.announced).toStrictEqual(['keep-alive', 'close']);
    expect(late!.client.announced).toStrictEqual(['keep-alive', 'close']);
    await idle!.client.send(get('/idle'));
    expect(idle!.client.announced).toStrictEqual(['close']);
  });

  test('makes the last of the requests in one piece the last', async () => {
    const { service, client } = await connected();
    service.connections.isDraining = true;
    service.answersAtOnce = true;
    await client.send(get('/1') + get('/2') + get('/3'));
    expect(client.announced).toStrictEqual(['keep-alive', 'keep-alive', 'close']);
  });

  test('leaves room for a request behind the body that was missing', async () => {
    const { service, client } = await connected(post('/1', 'Content-Length: 5\r\n'));
    service.connections.isDraining = true;
    await client.send(`12345${get('/2')}`);
    await service.answerAll();
    expect([service.handled, client.announced]).toStrictEqual([
      ['/1', '/2'],
      ['keep-alive', 'close'],
    ]);
  });

  test('leaves the end that the client has announced', async () => {
    const { service, client } = await connected(get('/1'));
    service.connections.isDraining = true;
    await client.send(get('/2', 'Connection: close\r\n'));
    await service.answer();
    await client.send(get('/3'));
    await service.answer();
    expect(client.announced).toStrictEqual(['keep-alive', 'close']);
    expect(service.handled).toStrictEqual(['/1', '/2']);
  });

  test('does not change an answer that is on its way', async () => {
    const { service, client, connection } = await connected(get('/1'));
    const { latest } = connection;
    latest!.flushHeaders();
    service.connections.isDraining = true;
    await client.send(get('/2'));
    expect(latest!.shouldKeepAlive).toBe(true);
    await service.answerAll();
    expect(client.announced).toStrictEqual(['keep-alive', 'close']);
  });
});
