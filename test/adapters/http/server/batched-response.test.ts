import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as endOfIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BatchedResponse } from '../../../../src/adapters/http/server/batched-response.ts';

const responses = (count: number): readonly BatchedResponse[] =>
  Array.from({ length: count }, () => new BatchedResponse(new IncomingMessage(new Socket())));

const ended = (all: readonly BatchedResponse[]) => all.map(({ writableEnded }) => writableEnded);

test('the answers of an iteration of the event loop are sent when the iteration ends', async () => {
  for (const all of [responses(3), responses(1), responses(2)]) {
    for (const response of all) response.end('body');
    expect(ended(all)).not.toContain(true);

    await endOfIteration();

    expect(ended(all)).not.toContain(false);
  }
});

test('the 32nd answer sends all 32 answers immediately, and the next answer begins another batch', async () => {
  const all = responses(33);

  for (const response of all) response.end();
  expect(ended(all)).toStrictEqual([...Array.from({ length: 32 }, () => true), false]);

  await endOfIteration();
  expect(ended(all)).not.toContain(false);
});

test('a waiting answer counts as sent, and cannot be replaced', async () => {
  const [once, twice] = responses(2);
  for (const response of [once, twice]) response!.end('first');
  expect(twice!.headersSent).toBe(true);
  twice!.end('second');
  await endOfIteration();
  expect(twice!.writableLength).toBe(once!.writableLength);
});
