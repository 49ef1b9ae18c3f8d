import { describe, expect, it } from 'vitest';
import { oncePerSecond } from '../../../src/application/ports/once-per-second.ts';
import { fakeClock } from '../../support/fake-clock.ts';

/** Returns a task whose runs end when the test settles them, and a clock that the test advances. */
function startTask(options?: { readonly sharesFailures: boolean }) {
  const { advance } = fakeClock();
  const runs: PromiseWithResolvers<string>[] = [];
  const task = oncePerSecond(() => {
    const run = Promise.withResolvers<string>();
    runs.push(run);
    return run.promise;
  }, options);
  return { advance, runs, task };
}

describe('oncePerSecond', () => {
  it('shares a result while the task runs, and for one second from its start', async () => {
    const { advance, runs, task } = startTask();
    const early = [task(), task()];
    advance(400);
    runs[0]!.resolve('first');
    expect(await Promise.all(early)).toStrictEqual(['first', 'first']);
    advance(599);
    expect(await task()).toBe('first');

    advance(1);
    const late = [task(), task()];
    runs[1]!.resolve('second');
    expect(await Promise.all(late)).toStrictEqual(['second', 'second']);
    expect(runs).toHaveLength(2);
  });

  it('does not delay later calls if the task does not end', async () => {
    const { advance, runs, task } = startTask();
    void task();
    advance(1_000);
    const late = task();
    runs[1]!.resolve('second');
    expect(await late).toBe('second');
  });

  it('starts the task again after a failure', async () => {
    const { runs, task } = startTask();
    const failing = task();
    runs[0]!.reject(new Error('no connection'));
    await expect(failing).rejects.toThrow('no connection');
    void task();
    expect(runs).toHaveLength(2);
  });

  it('shares a failure until the second ends if sharesFailures is set', async () => {
    const { advance, runs, task } = startTask({ sharesFailures: true });
    const failing = [task()];
    runs[0]!.reject(new Error('no connection'));
    await Promise.allSettled(failing);
    advance(999);
    failing.push(task());
    expect(await Promise.allSettled(failing)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
    advance(1);
    void task();
    expect(runs).toHaveLength(2);
  });
});
