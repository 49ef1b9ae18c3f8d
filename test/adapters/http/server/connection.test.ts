import { setImmediate as nextIteration } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { announced, get, serve } from './held-requests.ts';

const KEPT = 'keep-alive';

describe('requests on a connection', () => {
  test('are handled one at a time and in order, although they arrive together', async () => {
    const { connect, answer, handled, untilHandled } = await serve();
    const paths = ['1', '2', '3', '4', '5'];
    const client = await connect(paths.map((path) => get(path)).join(''));
    for (let answered = 0; answered < paths.length; answered++) {
      await untilHandled(answered + 1);
      // Long enough for any other to be handled.
      for (let i = 0; i < 10; i++) await nextIteration();
      expect(handled).toStrictEqual(paths.slice(0, answered + 1));
      await answer();
    }
    expect(await announced(client, 5)).toStrictEqual(Array(5).fill(KEPT));
  });

  test('take turns with requests on other connections', async () => {
    const { connect, answer, handled, untilHandled } = await serve();
    await connect(get('a1') + get('a2') + get('a3'));
    await connect(get('b1') + get('b2') + get('b3'));
    await untilHandled(2);
    for (let i = 0; i < 6; i++) await answer();
    expect(handled).toStrictEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  });

  test('are ignored after the 16th without an answer, and the 16th answer is the last', async () => {
    const { connect, answer, handled, untilHandled } = await serve();
    const paths = Array.from({ length: 100 }, (_, index) => `${index + 1}`);
    const client = await connect(
      paths
        .slice(0, 50)
        .map((path) => get(path))
        .join(''),
    );
    await untilHandled(1);
    await client.send(
      paths
        .slice(50)
        .map((path) => get(path))
        .join(''),
    );
    for (let i = 0; i < 16; i++) await answer();
    expect(await announced(client, 16)).toStrictEqual([...Array(15).fill(KEPT), 'close']);
    await client.closed();
    expect(handled).toStrictEqual(paths.slice(0, 16));
  });

  test('can be repeated in groups of 15, each after the answers to the previous group', async () => {
    const { connect, answer } = await serve();
    const client = await connect();
    for (let round = 0; round < 3; round++) {
      await client.send(get('x').repeat(15));
      for (let i = 0; i < 15; i++) await answer();
      expect(await announced(client, 15)).toStrictEqual(Array(15).fill(KEPT));
    }
  });

  test('are not handled if they wait when their client disconnects', async () => {
    const { connect, answer, handled, responses, untilHandled } = await serve();
    const client = await connect(get('1') + get('2'));
    await untilHandled(1);
    const closed = new Promise((resolve) => void responses[0]!.once('close', resolve));
    client.abort();
    await closed;
    await answer();
    await nextIteration();
    expect(handled).toStrictEqual(['1']);
  });
});

const OFFER = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';

// Node drops what follows a request that offers another protocol.
describe('an offer of another protocol', () => {
  const BODY = 'Content-Length: 5\r\n';
  const LIST = 'Connection: keep-alive, UPGRADE\r\nUpgrade: h2c\r\n';

  test.each([
    ['without a body', 1, [get('1', OFFER)]],
    ['with a body', 1, [get('1', OFFER + BODY), '12', '345']],
    ['behind another request, in one piece', 2, [get('0') + get('1', OFFER)]],
    ['behind another request', 2, [get('0'), get('1', OFFER)]],
    ['with requests behind it', 1, [get('1', OFFER) + get('2').repeat(100), get('3')]],
    ['with a request behind its body', 1, [get('1', OFFER + BODY), `12345${get('2')}`]],
    ['in a list, in capitals', 1, [get('1', LIST) + get('2')]],
  ])('%s makes its answer the last one', async (_, answers, pieces) => {
    const { connect, answer, handled, untilHandled } = await serve();
    const client = await connect();
    for (const piece of pieces) {
      await client.send(piece);
      await untilHandled(1);
    }
    for (let i = 0; i < answers; i++) await answer();
    expect(await announced(client, answers)).toStrictEqual([...Array(answers - 1).fill(KEPT), 'close']);
    await client.closed();
    expect(handled).toHaveLength(answers);
  });

  test.each(['Upgrade: h2c', 'Connection: upgrade'])('is not made by "%s" alone', async (header) => {
    const { connect, answer, untilHandled } = await serve();
    const client = await connect(`${get('1', `${header}\r\n`)}GE`);
    await untilHandled(1);
    await client.send(get('2').slice(2));
    for (let i = 0; i < 2; i++) await answer();
    expect(await announced(client, 2)).toStrictEqual([KEPT, KEPT]);
  });
});
