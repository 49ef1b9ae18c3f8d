import { setImmediate as nextIteration } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { connectionHeaders, get, serve } from './held-requests.ts';

const KEEP_ALIVE = 'keep-alive';

describe('requests on a connection', () => {
  test('are handled one at a time and in order, even if they arrive together', async () => {
    const { connect, answerOldest, handledPaths, waitUntilHandled } = await serve();
    const paths = ['1', '2', '3', '4', '5'];
    const client = await connect(paths.map((path) => get(path)).join(''));
    for (let answered = 0; answered < paths.length; answered++) {
      await waitUntilHandled(answered + 1);
      // In these iterations the service could handle another request, if it did not wait for the answer.
      for (let i = 0; i < 10; i++) await nextIteration();
      expect(handledPaths).toStrictEqual(paths.slice(0, answered + 1));
      await answerOldest();
    }
    expect(await connectionHeaders(client, 5)).toStrictEqual(Array(5).fill(KEEP_ALIVE));
  });

  test('take turns with requests on other connections', async () => {
    const { connect, answerOldest, handledPaths, waitUntilHandled } = await serve();
    await connect(get('a1') + get('a2') + get('a3'));
    await connect(get('b1') + get('b2') + get('b3'));
    await waitUntilHandled(2);
    for (let i = 0; i < 6; i++) await answerOldest();
    expect(handledPaths).toStrictEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  });

  test('are ignored if 16 earlier requests have no answer yet, and the connection closes after the 16th answer', async () => {
    const { connect, answerOldest, handledPaths, waitUntilHandled } = await serve();
    const paths = Array.from({ length: 100 }, (_, index) => `${index + 1}`);
    const client = await connect(
      paths
        .slice(0, 50)
        .map((path) => get(path))
        .join(''),
    );
    await waitUntilHandled(1);
    await client.send(
      paths
        .slice(50)
        .map((path) => get(path))
        .join(''),
    );
    for (let i = 0; i < 16; i++) await answerOldest();
    expect(await connectionHeaders(client, 16)).toStrictEqual([...Array(15).fill(KEEP_ALIVE), 'close']);
    await client.closed();
    expect(handledPaths).toStrictEqual(paths.slice(0, 16));
  });

  test('can arrive in any number of groups of 15, if each group arrives after the answers to the previous group', async () => {
    const { connect, answerOldest } = await serve();
    const client = await connect();
    for (let round = 0; round < 3; round++) {
      await client.send(get('x').repeat(15));
      for (let i = 0; i < 15; i++) await answerOldest();
      expect(await connectionHeaders(client, 15)).toStrictEqual(Array(15).fill(KEEP_ALIVE));
    }
  });

  test('are not handled if the client disconnects while they wait', async () => {
    const { connect, answerOldest, handledPaths, responses, waitUntilHandled } = await serve();
    const client = await connect(get('1') + get('2'));
    await waitUntilHandled(1);
    const closed = new Promise((resolve) => void responses[0]!.once('close', resolve));
    client.abort();
    await closed;
    await answerOldest();
    await nextIteration();
    expect(handledPaths).toStrictEqual(['1']);
  });
});

const OFFER = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';

// Node drops all bytes after a request that offers another protocol.
describe('an offer of another protocol', () => {
  const BODY_LENGTH = 'Content-Length: 5\r\n';
  const OFFER_IN_LIST = 'Connection: keep-alive, UPGRADE\r\nUpgrade: h2c\r\n';

  test.each([
    ['has no body', 1, [get('1', OFFER)]],
    ['has a body', 1, [get('1', OFFER + BODY_LENGTH), '12', '345']],
    ['arrives together with an earlier request', 2, [get('0') + get('1', OFFER)]],
    ['arrives after an earlier request', 2, [get('0'), get('1', OFFER)]],
    ['is followed by other requests', 1, [get('1', OFFER) + get('2').repeat(100), get('3')]],
    ['has a body and is followed by another request', 1, [get('1', OFFER + BODY_LENGTH), `12345${get('2')}`]],
    ['has UPGRADE in capitals in a list', 1, [get('1', OFFER_IN_LIST) + get('2')]],
  ])('ends the connection after its answer if the request %s', async (_, answers, pieces) => {
    const { connect, answerOldest, handledPaths, waitUntilHandled } = await serve();
    const client = await connect();
    for (const piece of pieces) {
      await client.send(piece);
      await waitUntilHandled(1);
    }
    for (let i = 0; i < answers; i++) await answerOldest();
    const expected = [...Array(answers - 1).fill(KEEP_ALIVE), 'close'];
    expect(await connectionHeaders(client, answers)).toStrictEqual(expected);
    await client.closed();
    expect(handledPaths).toHaveLength(answers);
  });

  test.each(['Upgrade: h2c', 'Connection: upgrade'])('needs both headers, not only "%s"', async (header) => {
    const { connect, answerOldest, waitUntilHandled } = await serve();
    const client = await connect(`${get('1', `${header}\r\n`)}GE`);
    await waitUntilHandled(1);
    await client.send(get('2').slice(2));
    for (let i = 0; i < 2; i++) await answerOldest();
    expect(await connectionHeaders(client, 2)).toStrictEqual([KEEP_ALIVE, KEEP_ALIVE]);
  });
});
