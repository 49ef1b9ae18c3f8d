import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as endOfIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { answerBatch } from '../../../../src/adapters/http/middleware/write-answer.ts';

function responses(count: number): readonly ServerResponse[] {
  return Array.from({ length: count }, () => new ServerResponse(new IncomingMessage(new Socket())));
}

const ended = (all: readonly ServerResponse[]) => all.map(({ writableEnded }) => writableEnded);

test('the answers of each iteration of the event loop are ended at its end', async () => {
  const end = answerBatch();
  for (const all of [responses(3), responses(1), responses(2)]) {
    for (const response of all) end(response, 'body');
    expect(ended(all)).not.toContain(true);

    await endOfIteration();

    expect(ended(all)).not.toContain(false);
  }
});

test('the 32nd answer ends all of them at once, and the next one begins another batch', async () => {
  const end = answerBatch();
  const all = responses(33);

  for (const response of all) end(response, undefined);
  expect(ended(all)).toStrictEqual([...Array.from({ length: 32 }, () => true), false]);

  await endOfIteration();
  expect(ended(all)).not.toContain(false);
});
