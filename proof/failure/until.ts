import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `poll` until it returns a result other than `undefined` and `false`. Resolves with this result. Rejects if
 * there is none within `withinMs`.
 *
 * @param what the condition, for the message of the error
 * @param everyMs the pause between two calls. The default is short enough to measure times
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
    if (performance.now() > deadline) throw new Error(`no result within ${withinMs} ms: ${what}`);
    await sleep(everyMs);
  }
}
