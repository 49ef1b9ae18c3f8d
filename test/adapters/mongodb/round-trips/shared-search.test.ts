import { expect, it } from 'vitest';
import { sharedSearch } from '../../../../src/adapters/mongodb/round-trips/shared-search.ts';
import { fakeClock } from '../../../support/fake-clock.ts';

/** A search whose runs the test completes. */
function controlled() {
  const runs: PromiseWithResolvers<string>[] = [];
  const search = sharedSearch(() => {
    const run = Promise.withResolvers<string>();
    runs.push(run);
    return run.promise;
  });
  return { runs, search };
}

it('is shared by the calls of a second, during it and after it', async () => {
  const { advance } = fakeClock();
  const { runs, search } = controlled();
  const early = search.result();
  runs[0]!.resolve('first');
  expect(await early).toBe('first');
  advance(999);
  expect(await search.result()).toBe('first');

  advance(1);
  const late = [search.result(), search.result()];
  runs[1]!.resolve('second');
  expect(await Promise.all(late)).toStrictEqual(['second', 'second']);
  expect(runs).toHaveLength(2);
});

it('does not delay later calls if it does not return', async () => {
  const { advance } = fakeClock();
  const { runs, search } = controlled();
  void search.result();
  advance(1_000);
  const late = search.result();
  runs[1]!.resolve('second');
  expect(await late).toBe('second');
});

it('begins again after a failure, and when its result is forgotten', async () => {
  fakeClock();
  const { runs, search } = controlled();
  const failing = search.result();
  runs[0]!.reject(new Error('no connection'));
  await expect(failing).rejects.toThrow('no connection');
  const next = search.result();
  runs[1]!.resolve('second');
  expect(await next).toBe('second');

  search.forget();
  const last = search.result();
  runs[2]!.resolve('third');
  expect(await last).toBe('third');
});
