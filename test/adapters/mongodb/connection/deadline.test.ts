import { stat } from 'node:fs/promises';
import { MongoNetworkError, MongoServerError } from 'mongodb';
import { expect, it, vi } from 'vitest';
import { withDeadline } from '../../../../src/adapters/mongodb/connection/deadline.ts';
import { StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { Simulation } from '../../../../proof/simulation/simulation.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { virtualTime } from '../../../../proof/simulation/virtual-time.ts';

const retryUntilDeadline = <T>(timeoutMs: number, work: () => Promise<T>) =>
  withDeadline(timeoutMs, (deadline) => deadline.retry(work));

/**
 * Begins the work, and runs a virtual clock until no timer is left. Returns the outcome of the work, and the time from
 * the beginning to the last timer in milliseconds. Expects that an outage began when the work began.
 */
async function outcomeOf<T>(begin: (elapsedMs: () => number) => Promise<T>) {
  const simulation = new Simulation(new SeededRandom(1));
  simulation.calm();
  // The pause before a retry is random. The random number 1 makes each pause as long as possible.
  using _ = virtualTime(simulation, () => 1);
  const startMs = simulation.nowMs;
  const running = Promise.allSettled([begin(() => simulation.nowMs - startMs)]);
  await simulation.run();
  const [outcome] = await running;
  const { sinceMs = startMs } = outcome.status === 'rejected' ? outcome.reason : {};
  expect(Math.round(sinceMs - startMs)).toBe(0);
  return { ...outcome, ms: simulation.nowMs - startMs };
}

const timedOut = (ms: number, lastFailure = '') =>
  expect.objectContaining({
    name: 'StorageUnavailable',
    message: `MongoDB did not complete the call within ${ms} ms${lastFailure}`,
  });

it('withDeadline leaves no timer running when the work is done', async () => {
  expect(await outcomeOf(() => withDeadline(1_000, async () => 'done'))).toStrictEqual({
    status: 'fulfilled',
    value: 'done',
    ms: 0,
  });
});

it('withDeadline ends the call at the deadline while the work is still pending', async () => {
  const { ms, ...outcome } = await outcomeOf(() => withDeadline(1_000, () => new Promise(() => {})));

  expect(outcome).toStrictEqual({ status: 'rejected', reason: timedOut(1_000) });
  expect(Math.round(ms)).toBe(1_000);
});

it('withDeadline returns a result that arrived while the process was suspended, even after the deadline', async () => {
  const stats = withDeadline(1, () => stat('.'));
  // Suspends the process for 300 ms. During these 300 ms, the file system answers and the deadline passes.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);

  expect((await stats).isDirectory()).toBe(true);
});

it('Deadline.retry repeats the work until the deadline, after pauses that grow to 500 ms', async () => {
  const outage = new MongoNetworkError('connection reset');
  const attemptTimesMs: number[] = [];
  const outcome = await outcomeOf((elapsedMs) =>
    retryUntilDeadline(2_000, async () => {
      attemptTimesMs.push(elapsedMs());
      throw outage;
    }),
  );

  const pausesMs = attemptTimesMs.slice(1).map((atMs, n) => Math.round(atMs - attemptTimesMs[n]!));
  expect(pausesMs).toStrictEqual([25, 50, 100, 200, 400, 500, 500]);
  const lastFailure = '; the last attempt: MongoDB is unavailable: connection reset';
  expect(outcome).toMatchObject({ status: 'rejected', reason: timedOut(2_000, lastFailure) });
  // The last pause begins at 1,775 ms. Its timer runs 500 ms later, although the call has ended at 2,000 ms.
  expect(Math.round(outcome.ms)).toBe(1_775 + 500);
});

it('Deadline.retry does not begin the work when the deadline has passed', async () => {
  const work = vi.fn<() => Promise<void>>();

  expect(await outcomeOf(() => retryUntilDeadline(0, work))).toMatchObject({ reason: timedOut(0) });
  expect(work).not.toHaveBeenCalled();
});

it.each([
  ['a bug', new TypeError('a bug'), new TypeError('a bug')],
  [
    'an outage that no retry can repair',
    new MongoServerError({ message: 'not authorized', code: 13 }),
    new StorageUnavailable(
      'MongoDB is unavailable: Unauthorized (13); the service needs the role readWrite, and petstore migrate also needs dbAdmin',
    ),
  ],
])('Deadline.retry makes no second attempt after %s', async (_, error, reason) => {
  const outcome = await outcomeOf(() => retryUntilDeadline(1_000, () => Promise.reject(error)));

  expect(outcome).toMatchObject({ reason, ms: 0 });
});
