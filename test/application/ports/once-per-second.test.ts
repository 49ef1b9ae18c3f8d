import { describe, expect, it } from 'vitest';
import { oncePerSecond } from '../../../src/application/ports/once-per-second.ts';
import { fakeClock } from '../../support/fake-clock.ts';

/** A task whose runs the test completes, on a clock that the test advances. */
function controlled(options?: { readonly sharesFailures: boolean }) {
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
  it('shares a result while the task runs, and for a second from its beginning', async () => {
    const { advance, runs, task } = controlled();
    const early = [task.result(), task.result()];
    advance(400);
    runs[0]!.resolve('first');
    expect(await Promise.all(early)).toStrictEqual(['first', 'first']);
    advance(599);
    expect(await task.result()).toBe('first');

    advance(1);
    const late = [task.result(), task.result()];
    runs[1]!.resolve('second');
    expect(await Promise.all(late)).toStrictEqual(['second', 'second']);
    expect(runs).toHaveLength(2);
  });

  it('does not delay later calls if the task does not end', async () => {
    const { advance, runs, task } = controlled();
    void task.result();
    advance(1_000);
    const late = task.result();
    runs[1]!.resolve('second');
    expect(await late).toBe('second');
  });

  it.each([
    ['begins again after a failure', undefined, 0],
    ['shares a failure for the same second, if asked', { sharesFailures: true }, 1_000],
  ])('%s', async (_, options, sharedMs) => {
    const { advance, runs, task } = controlled(options);
    const failing = task.result();
    runs[0]!.reject(new Error('no connection'));
    await expect(failing).rejects.toThrow('no connection');
    if (sharedMs > 0) {
      advance(sharedMs - 1);
      await expect(task.result()).rejects.toThrow('no connection');
      advance(1);
    }
    const next = task.result();
    runs[1]!.resolve('second');
    expect(await next).toBe('second');
  });

  it('begins again when its result is forgotten', async () => {
    const { runs, task } = controlled();
    void task.result();
    runs[0]!.resolve('first');
    task.forget();
    const last = task.result();
    runs[1]!.resolve('second');
    expect(await last).toBe('second');
  });
});
