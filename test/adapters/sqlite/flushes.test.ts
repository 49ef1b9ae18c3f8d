import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Batch, Flushes } from '../../../src/adapters/sqlite/flushes.ts';
import { storageHost } from '../../support/storage-host.ts';

const ids = (firstId: bigint, lastId = firstId): Batch => ({ firstId, lastId });

// The queue follows these rules. If a bug breaks one of them, its acknowledgements cannot be trusted.
it.each<readonly [string, readonly Batch[], broken: number, problem: string]>([
  ['a third flush begins', [{}, {}, {}], 2, 'a third flush has begun'],
  ['an id is committed after a greater id', [ids(5n, 6n), ids(6n)], 1, 'the id 6 follows 6'],
  [
    'a pet would be acknowledged before its batch is flushed',
    [{ lastId: 5n }, ids(5n)],
    0,
    'pet 5 is not flushed',
  ],
])('the process ends because of a bug when %s', async (_, batches, broken, problem) => {
  const disk = Promise.withResolvers<void>();
  const flushes = new Flushes(storageHost(), { flush: () => disk.promise });
  const acknowledged: number[] = [];
  const ends: string[] = [];

  for (const [index, batch] of batches.entries()) {
    flushes
      .flush(batch, () => acknowledged.push(index))
      .catch(({ message }: Error) => ends.push(`${index}: ${message}`));
  }
  await turn();
  disk.resolve();
  await turn();

  expect(ends).toStrictEqual([
    expect.stringContaining(`${broken}: fatal: a bug: ${problem}; this process ends`),
  ]);
  expect(acknowledged).not.toContain(broken);
});
