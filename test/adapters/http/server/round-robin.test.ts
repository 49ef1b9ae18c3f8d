import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { RoundRobin } from '../../../../src/adapters/http/server/round-robin.ts';

describe('tasks in turn', () => {
  let roundRobin: RoundRobin;
  let done: string[];
  const add = (...names: readonly string[]) => {
    for (const name of names) roundRobin.add(() => void done.push(name));
  };
  /** One iteration of the event loop. */
  const iterate = () => vi.advanceTimersToNextTimer();

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setImmediate'] });
    onTestFinished(() => void vi.useRealTimers());
    roundRobin = new RoundRobin();
    done = [];
  });

  test('run one in each iteration, in their order', () => {
    add('a', 'b');
    expect(done).toStrictEqual([]);
    iterate();
    expect(done).toStrictEqual(['a']);
    add('c');
    iterate();
    expect(done).toStrictEqual(['a', 'b']);
    iterate();
    expect(done).toStrictEqual(['a', 'b', 'c']);
    // Without a task, the event loop may sleep.
    expect(vi.getTimerCount()).toBe(0);
    add('d');
    iterate();
    expect(done).toStrictEqual(['a', 'b', 'c', 'd']);
  });

  test('run once, however often they were added meanwhile', () => {
    for (const task of Array(2).fill(() => void done.push('a'))) roundRobin.add(task);
    iterate();
    expect([done, vi.getTimerCount()]).toStrictEqual([['a'], 0]);
  });

  test('one that fails does not stop the others', () => {
    roundRobin.add(() => {
      throw new Error('a bug');
    });
    add('a');
    expect(iterate).toThrow('a bug');
    iterate();
    expect(done).toStrictEqual(['a']);
  });

  test('wait for an iteration after a new connection', () => {
    add('a', 'b');
    roundRobin.onNewConnection();
    iterate();
    expect(done).toStrictEqual([]);
    iterate();
    iterate();
    expect(done).toStrictEqual(['a', 'b']);
  });

  test('run in every 17th iteration, however many connections come', () => {
    add('a', 'b', 'c');
    const iterations: number[] = [];
    for (let iteration = 1; iteration <= 3 * 17; iteration++) {
      roundRobin.onNewConnection();
      const before = done.length;
      iterate();
      if (done.length > before) iterations.push(iteration);
    }
    expect(iterations).toStrictEqual([17, 34, 51]);
  });
});
