import { describe, expect, test } from 'vitest';
import { connected, get, post, Service } from './in-memory-connections.ts';

const OFFER = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';

// Node drops what follows a request that offers another protocol.
describe('an offer of another protocol', () => {
  const BODY = 'Content-Length: 5\r\n';
  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['alone', [get('/1', OFFER)], ['close']],
    ['with a body', [post('/1', OFFER + BODY), '12', '345'], ['close']],
    ['behind another request, in one piece', [get('/0') + get('/1', OFFER)], ['keep-alive', 'close']],
    ['behind another request', [get('/0'), get('/1', OFFER)], ['keep-alive', 'close']],
    ['with requests behind it', [get('/1', OFFER) + get('/2').repeat(100), get('/3')], ['close']],
    [
      'with a long header, and a request behind its body',
      [`${post('/1', `X-Long: ${'x'.repeat(300)}\r\n${OFFER}${BODY}`)}12345${get('/2')}`],
      ['close'],
    ],
    ['with a request behind its body', [post('/1', OFFER + BODY), `12345${get('/2')}`], ['close']],
    ['with chunks', [post('/1', `${OFFER}Transfer-Encoding: chunked\r\n`), '0\r\n\r\nG'], ['close']],
    [
      'no offer, with a request behind it',
      [`${get('/1', 'Upgrade: h2c\r\n')}GE`, get('/2').slice(2)],
      Array(2).fill('keep-alive'),
    ],
    [
      'no protocol',
      [`${get('/1', 'Connection: upgrade\r\n')}GE`, get('/2').slice(2)],
      ['keep-alive', 'keep-alive'],
    ],
    [
      'in a list, in capitals',
      [get('/1', 'Connection: keep-alive, UPGRADE\r\nUpgrade: h2c\r\n') + get('/2')],
      ['close'],
    ],
  ])('%s', async (_, pieces, announced) => {
    const { service, client } = await connected();
    for (const piece of pieces) await client.send(piece);
    await service.answerAll();
    expect(client.announced).toStrictEqual(announced);
    expect(service.handled).toHaveLength(announced.length);
    expect(client.hasEnded).toBe(announced.includes('close'));
  });

  test('that is cut anywhere, with a request behind it', async () => {
    const service = await Service.start();
    service.answersAtOnce = true;
    const bytes = get('/1', OFFER) + get('/2');
    for (let cut = 1; cut < bytes.length; cut++) {
      const { client } = service.connect();
      await client.send(bytes.slice(0, cut));
      await client.send(bytes.slice(cut));
      expect([client.announced, client.hasEnded], `cut at ${cut}`).toStrictEqual([['close'], true]);
    }
  });

  test('whose answer is being sent before its body is there', async () => {
    const { service, client, connection } = await connected(post('/1', OFFER + BODY));
    connection.latest!.flushHeaders();
    await client.send(`12345${get('/2')}`);
    expect(client.hasEnded).toBe(false);
    await service.answer();
    expect([client.announced, client.hasEnded]).toStrictEqual([['close'], true]);
    expect(service.handled).toStrictEqual(['/1']);
  });

  test('whose answer is out before its body is there', async () => {
    const { service, client } = await connected(post('/1', OFFER + BODY));
    await service.answer();
    await client.send(`12345${get('/2')}`);
    await client.send(get('/3'));
    expect([client.announced, client.hasEnded]).toStrictEqual([['close'], true]);
    expect(service.handled).toStrictEqual(['/1']);
  });
});
