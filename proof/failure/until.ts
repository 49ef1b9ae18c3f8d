import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls until the result is neither `undefined` nor `false`, and returns it.
 *
 * @param withinMs 30,000 by default
 * @param everyMs 10 by default, which is short enough to measure with
 */
export async function until<T>(
  what: string,
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  { withinMs = 30_000, everyMs = 10 }: { readonly withinMs?: number; readonly everyMs?: number } = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const result = await poll();
    if (result !== undefined && result !== false) return result;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await sleep(everyMs);
  }
}
