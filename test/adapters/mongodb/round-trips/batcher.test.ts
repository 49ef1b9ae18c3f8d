import { setImmediate as immediate } from 'node:timers/promises';
import { beforeEach, expect, it, vi } from 'vitest';
import { Batcher } from '../../../../src/adapters/mongodb/round-trips/batcher.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { numbers } from '../../../support/numbers.ts';

/** The next round trip begins a turn of the event loop after the reply. */
const turn = async () => {
  await immediate();
  await immediate();
};

type RoundTrip = { readonly items: readonly number[] } & PromiseWithResolvers<string>;

let roundTrips: RoundTrip[];
let batcher: Batcher<number, string>;
const sent = () => roundTrips.map(({ items }) => items);

beforeEach(() => {
  fakeClock('setTimeout', 'clearTimeout');
  roundTrips = [];
  batcher = new Batcher((items) => {
    const roundTrip = { items: [...items], ...Promise.withResolvers<string>() };
    roundTrips.push(roundTrip);
    return roundTrip.promise;
  });
});

it('a batcher sends a single call immediately, without a timer, and is idle without a call', async () => {
  expect(batcher.isIdle).toBe(true);
  const reply = batcher.add(1);
  expect(batcher.isIdle).toBe(false);
  await Promise.resolve();

  expect(sent()).toStrictEqual([[1]]);
  expect(vi.getTimerCount()).toBe(0);
  expect(batcher.isIdle).toBe(false);
  roundTrips[0]!.resolve('pong');
  expect(await reply).toBe('pong');
  await turn();
  expect(batcher.isIdle).toBe(true);
});

it('a batcher collects calls during a round trip and the turn of its reply, and sends them together', async () => {
  const first = batcher.add(1);
  await turn();
  const later = [batcher.add(2), batcher.add(3)];
  await turn();
  later.push(batcher.add(4));
  await turn();

  expect(sent()).toStrictEqual([[1]]);
  roundTrips[0]!.resolve('first');
  expect(await first).toBe('first');
  later.push(batcher.add(5));
  await turn();
  expect(sent()).toStrictEqual([[1], [2, 3, 4, 5]]);
  roundTrips[1]!.resolve('second');
  expect(await Promise.all(later)).toStrictEqual(later.map(() => 'second'));
  expect(vi.getTimerCount()).toBe(0);
});

it('a batcher waits 5 ms at most for the latest round trip, and not for the late reply of an earlier round trip', async () => {
  void batcher.add(1);
  await turn();
  void batcher.add(2);
  await turn();
  vi.advanceTimersByTime(4);
  await turn();
  expect(sent()).toStrictEqual([[1]]);
  vi.advanceTimersByTime(1);
  await turn();
  expect(sent()).toStrictEqual([[1], [2]]);

  roundTrips[0]!.resolve('late');
  await turn();
  void batcher.add(3);
  await turn();
  expect(sent()).toStrictEqual([[1], [2]]);
  roundTrips[1]!.resolve('second');
  await turn();
  expect(sent()).toStrictEqual([[1], [2], [3]]);
});

it('a batcher rejects only the calls of the round trip that failed, and sends the next calls', async () => {
  const failing = [batcher.add(1), batcher.add(2)];
  await turn();
  const next = batcher.add(3);
  const failure = new Error('connection lost');
  roundTrips[0]!.reject(failure);

  for (const call of failing) await expect(call).rejects.toBe(failure);
  await turn();
  expect(sent()).toStrictEqual([[1, 2], [3]]);
  roundTrips[1]!.resolve('pong');
  expect(await next).toBe('pong');
});

it('a batcher sends at most 1,000 calls together, and the remaining calls after them', async () => {
  for (const n of numbers(2_001)) void batcher.add(n);
  await turn();
  expect(sent().map(({ length }) => length)).toStrictEqual([1_000]);
  roundTrips[0]!.resolve('pong');
  await turn();
  vi.advanceTimersByTime(5);
  await turn();

  expect(sent().map(({ length }) => length)).toStrictEqual([1_000, 1_000, 1]);
  expect(sent().flat()).toStrictEqual(numbers(2_001));
});

it('a batcher without a time limit waits for each reply, however long it takes', async () => {
  const replies = numbers(2).map(() => Promise.withResolvers<void>());
  const begun: (readonly number[])[] = [];
  const oneAtATime = new Batcher((items: readonly number[]) => replies[begun.push([...items]) - 1]!.promise, {
    maxWaitMs: Infinity,
  });
  void oneAtATime.add(1);
  await turn();
  void oneAtATime.add(2);
  vi.advanceTimersByTime(60_000);
  await turn();
  expect(begun).toStrictEqual([[1]]);
  replies[0]!.resolve();
  await turn();
  expect(begun).toStrictEqual([[1], [2]]);
});
