import { setTimeout as sleep } from 'node:timers/promises';

/** The first result that is not `undefined`. Asks every few milliseconds, so that it can be used to measure. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  { withinMs = 30_000, everyMs = 10 }: { readonly withinMs?: number; readonly everyMs?: number } = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const result = await ask();
    if (result !== undefined) return result;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await sleep(everyMs);
  }
}
