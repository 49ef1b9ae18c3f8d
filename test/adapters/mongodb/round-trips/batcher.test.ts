import { setImmediate as immediate } from 'node:timers/promises';
import { beforeEach, expect, it, vi } from 'vitest';
import { Batcher } from '../../../../src/adapters/mongodb/round-trips/batcher.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { numbers } from '../../../support/numbers.ts';

/** Waits for two turns of the event loop. In these turns, the batcher sends its waiting calls if it may send them. */
const waitForSending = async () => {
  await immediate();
  await immediate();
};

type RoundTrip = { readonly items: readonly number[] } & PromiseWithResolvers<string>;

let roundTrips: RoundTrip[];
let batcher: Batcher<number, string>;
const sentItems = () => roundTrips.map(({ items }) => items);

beforeEach(() => {
  fakeClock('setTimeout', 'clearTimeout');
  roundTrips = [];
  batcher = new Batcher((items) => {
    const roundTrip = { items: [...items], ...Promise.withResolvers<string>() };
    roundTrips.push(roundTrip);
    return roundTrip.promise;
  });
});

it('a batcher sends a single call immediately and without a timer, and is idle before the call and after the reply', async () => {
  expect(batcher.isIdle).toBe(true);
  const reply = batcher.add(1);
  expect(batcher.isIdle).toBe(false);
  await Promise.resolve();

  expect(sentItems()).toStrictEqual([[1]]);
  expect(vi.getTimerCount()).toBe(0);
  expect(batcher.isIdle).toBe(false);
  roundTrips[0]!.resolve('pong');
  expect(await reply).toBe('pong');
  await waitForSending();
  expect(batcher.isIdle).toBe(true);
});

it('a batcher collects the calls that come during a round trip and right after its reply, and sends these calls together', async () => {
  const firstCall = batcher.add(1);
  await waitForSending();
  const laterCalls = [batcher.add(2), batcher.add(3)];
  await waitForSending();
  laterCalls.push(batcher.add(4));
  await waitForSending();

  expect(sentItems()).toStrictEqual([[1]]);
  roundTrips[0]!.resolve('first');
  expect(await firstCall).toBe('first');
  laterCalls.push(batcher.add(5));
  await waitForSending();
  expect(sentItems()).toStrictEqual([[1], [2, 3, 4, 5]]);
  roundTrips[1]!.resolve('second');
  expect(await Promise.all(laterCalls)).toStrictEqual(laterCalls.map(() => 'second'));
  expect(vi.getTimerCount()).toBe(0);
});

it('a batcher waits for the reply of the latest round trip for at most 5 ms, and not for the reply of an earlier round trip', async () => {
  void batcher.add(1);
  await waitForSending();
  void batcher.add(2);
  await waitForSending();
  vi.advanceTimersByTime(4);
  await waitForSending();
  expect(sentItems()).toStrictEqual([[1]]);
  vi.advanceTimersByTime(1);
  await waitForSending();
  expect(sentItems()).toStrictEqual([[1], [2]]);

  roundTrips[0]!.resolve('late');
  await waitForSending();
  void batcher.add(3);
  await waitForSending();
  expect(sentItems()).toStrictEqual([[1], [2]]);
  roundTrips[1]!.resolve('second');
  await waitForSending();
  expect(sentItems()).toStrictEqual([[1], [2], [3]]);
});

it('a batcher rejects only the calls of the round trip that failed, and sends the next calls', async () => {
  const failingCalls = [batcher.add(1), batcher.add(2)];
  await waitForSending();
  const nextCall = batcher.add(3);
  const failure = new Error('connection lost');
  roundTrips[0]!.reject(failure);

  for (const call of failingCalls) await expect(call).rejects.toBe(failure);
  await waitForSending();
  expect(sentItems()).toStrictEqual([[1, 2], [3]]);
  roundTrips[1]!.resolve('pong');
  expect(await nextCall).toBe('pong');
});

it('a batcher sends at most 1,000 calls in a round trip, and the remaining calls in the next round trips', async () => {
  for (const n of numbers(2_001)) void batcher.add(n);
  await waitForSending();
  expect(sentItems().map(({ length }) => length)).toStrictEqual([1_000]);
  roundTrips[0]!.resolve('pong');
  await waitForSending();
  vi.advanceTimersByTime(5);
  await waitForSending();

  expect(sentItems().map(({ length }) => length)).toStrictEqual([1_000, 1_000, 1]);
  expect(sentItems().flat()).toStrictEqual(numbers(2_001));
});

it('a batcher without a time limit waits for the reply of each round trip before it sends the next', async () => {
  const replies = numbers(2).map(() => Promise.withResolvers<void>());
  const trips: (readonly number[])[] = [];
  const oneAtATime = new Batcher((items: readonly number[]) => replies[trips.push([...items]) - 1]!.promise, {
    maxWaitMs: Infinity,
  });
  void oneAtATime.add(1);
  await waitForSending();
  void oneAtATime.add(2);
  vi.advanceTimersByTime(60_000);
  await waitForSending();
  expect(trips).toStrictEqual([[1]]);
  replies[0]!.resolve();
  await waitForSending();
  expect(trips).toStrictEqual([[1], [2]]);
});
