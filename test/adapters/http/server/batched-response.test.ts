import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as endOfIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BatchedResponse } from '../../../../src/adapters/http/server/batched-response.ts';

const responses = (count: number): readonly BatchedResponse[] =>
  Array.from({ length: count }, () => new BatchedResponse(new IncomingMessage(new Socket())));

const endedFlags = (all: readonly BatchedResponse[]) => all.map(({ writableEnded }) => writableEnded);

test('all answers that end in one iteration of the event loop are sent at the end of this iteration', async () => {
  for (const all of [responses(3), responses(1), responses(2)]) {
    for (const response of all) response.end('body');
    expect(endedFlags(all)).not.toContain(true);

    await endOfIteration();

    expect(endedFlags(all)).not.toContain(false);
  }
});

test('the 32nd answer sends all 32 answers immediately, and the next answer begins another batch', async () => {
  const all = responses(33);

  for (const response of all) response.end();
  expect(endedFlags(all)).toStrictEqual([...Array.from({ length: 32 }, () => true), false]);

  await endOfIteration();
  expect(endedFlags(all)).not.toContain(false);
});

test('an answer that waits for the end of the iteration counts as sent, and cannot be replaced', async () => {
  const [endedOnce, endedTwice] = responses(2);
  for (const response of [endedOnce, endedTwice]) response!.end('first');
  expect(endedTwice!.headersSent).toBe(true);
  endedTwice!.end('second');
  await endOfIteration();
  expect(endedTwice!.writableLength).toBe(endedOnce!.writableLength);
});
