import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RateLimiter } from '../../src/application/ports/rate-limiter.ts';
import { RATE_LIMIT_MAX } from '../../src/domain/rate-limit.ts';
import { holds } from '../../proof/properties/holds.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { command as commandOf } from './model.ts';

type Limiters = {
  /** Limiters that count requests together. */
  readonly limiters: readonly RateLimiter[];
  /**
   * Moves the clock of the limiters forwards. Absent if the limiters use the clock of a server. No window ends in
   * a test with such limiters.
   */
  advance?(ms: number): void;
};

export type TestedLimiter = {
  /** Creates limiters that have counted nothing. */
  create(): Promise<Limiters>;
  /** How many sequences of random calls `npm test` tries. */
  readonly runs: number;
  /** Whether `create` returns the function `advance`. */
  readonly hasClock: boolean;
};

type Model = { nowMs: number; readonly windows: Map<string, { count: number; readonly startMs: number }> };
const command = commandOf<Model, Limiters>;

/** There are few different keys and limits, so that many calls continue the window of an earlier call. */
const key = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('tom', 'tom', 'Tom', '1/60:tom', '__proto__') },
  fc.string(),
);

/** Calls `take` several times in parallel. Each call goes to the next limiter, and `first` is the first limiter. */
const take = (seconds: fc.Arbitrary<number>) =>
  fc
    .record({
      first: fc.nat(3),
      key,
      requests: fc.constantFrom(1, 3, 3, 3, 4, RATE_LIMIT_MAX.requests),
      seconds,
      times: fc.constantFrom(1, 2, 3, 3, 3, 300),
    })
    .map(({ first, key: id, requests, seconds: length, times }) =>
      command(
        `${times} calls of take(${fc.stringify(id)}, ${requests} per ${length} s) from limiter ${first}`,
        async ({ nowMs, windows }, { limiters, advance }) => {
          const name = JSON.stringify([id, requests, length]);
          const previous = windows.get(name);
          const isOver = previous === undefined || nowMs >= previous.startMs + length * 1_000;
          const window = isOver ? { count: 0, startMs: nowMs } : previous;
          windows.set(name, window);
          const callees = Array.from({ length: times }, (_, n) => limiters[(first + n) % limiters.length]!);
          const taken = await Promise.all(
            callees.map((limiter) => limiter.take(id, { requests, seconds: length })),
          );
          // How many requests the window allows after each call. A negative number means that the call is refused.
          const left = Array.from(taken, () => requests - ++window.count);
          const secondsLeft = Math.ceil(length - (nowMs - window.startMs) / 1_000);
          for (const [at, { allowed, remaining, resetSeconds }] of taken
            .toSorted((a, b) => b.remaining - a.remaining || Number(b.allowed) - Number(a.allowed))
            .entries()) {
            expect([allowed, remaining]).toStrictEqual([left[at]! >= 0, Math.max(0, left[at]!)]);
            if (advance !== undefined) expect(resetSeconds).toBe(Math.min(length, secondsLeft));
            else expect(resetSeconds).toSatisfy((reset: number) => reset >= 1 && reset <= length);
          }
        },
      ),
    );

const advance = fc
  .oneof(
    fc.integer({ min: 0, max: 90_000 }),
    fc.constantFrom(999, 1_000, 9_999, 10_000, 60_000),
    fc.double({ min: 0, max: 2_000, noNaN: true }),
  )
  .map((ms) =>
    command(`advance ${ms} ms`, async (model, limiters) => {
      model.nowMs += ms;
      limiters.advance?.(ms);
    }),
  );

/** Makes random calls of {@link RateLimiter}, and compares each result with request counts in a map. */
export function rateLimiterModel({ create, runs, hasClock }: TestedLimiter): void {
  const seconds = hasClock
    ? fc.constantFrom(1, 10, 60, RATE_LIMIT_MAX.seconds)
    : fc.constantFrom(RATE_LIMIT_MAX.seconds, RATE_LIMIT_MAX.seconds - 1);

  it('returns what request counts in a map predict, for random sequences of calls', async () => {
    // This clock stands still, so a command to a slow server does not reach its time limit.
    if (!hasClock) fakeClock('setTimeout', 'clearTimeout');
    const commands = [take(seconds), take(seconds), ...(hasClock ? [advance] : [])];
    await holds(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (calls) => {
        const real = await create();
        await fc.asyncModelRun(() => ({ model: { nowMs: 0, windows: new Map() }, real }), calls);
      }),
      runs,
    );
  });
}
