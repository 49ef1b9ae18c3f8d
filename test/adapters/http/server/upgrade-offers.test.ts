import { describe, expect, test } from 'vitest';
import { connected, get, post, Service } from './in-memory-connections.ts';

const OFFER = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';

// Node drops what follows a request that offers another protocol.
describe('an offer of another protocol', () => {
  const BODY = 'Content-Length: 5\r\n';
  const LONG = `X-Long: ${'x'.repeat(300)}\r\n`;
  const LIST = 'Connection: keep-alive, UPGRADE\r\nUpgrade: h2c\r\n';
  test.each([
    ['alone', 1, [get('/1', OFFER)]],
    ['with a body', 1, [post('/1', OFFER + BODY), '12', '345']],
    ['behind another request, in one piece', 2, [get('/0') + get('/1', OFFER)]],
    ['behind another request', 2, [get('/0'), get('/1', OFFER)]],
    ['with requests behind it', 1, [get('/1', OFFER) + get('/2').repeat(100), get('/3')]],
    ['with a long header', 1, [`${post('/1', LONG + OFFER + BODY)}12345${get('/2')}`]],
    ['with a request behind its body', 1, [post('/1', OFFER + BODY), `12345${get('/2')}`]],
    ['with chunks', 1, [post('/1', `${OFFER}Transfer-Encoding: chunked\r\n`), '0\r\n\r\nG']],
    ['in a list, in capitals', 1, [get('/1', LIST) + get('/2')]],
  ])('%s makes its answer the last one', async (_, answers, pieces) => {
    const { service, client } = await connected();
    for (const piece of pieces) await client.send(piece);
    await service.answerAll();
    expect(client.announced).toStrictEqual([...Array(answers - 1).fill('keep-alive'), 'close']);
    expect([service.handled.length, client.hasEnded]).toStrictEqual([answers, true]);
  });

  test.each(['Upgrade: h2c', 'Connection: upgrade'])('is not made by "%s" alone', async (header) => {
    const { service, client } = await connected(`${get('/1', `${header}\r\n`)}GE`);
    await client.send(get('/2').slice(2));
    await service.answerAll();
    expect(client.announced).toStrictEqual(['keep-alive', 'keep-alive']);
    expect([service.handled.length, client.hasEnded]).toStrictEqual([2, false]);
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
