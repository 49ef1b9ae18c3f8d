import { type EventEmitter, once } from 'node:events';

/**
 * Calls `find` immediately and after each event, until the result is not `undefined`. Resolves with this result.
 *
 * @throws after 20 s, or TEST_WAIT_MS milliseconds, because a result that has not come by then never comes
 */
export async function waitFor<T>(
  emitter: EventEmitter,
  event: string,
  find: () => T | undefined,
): Promise<T> {
  const signal = AbortSignal.timeout(Number(process.env['TEST_WAIT_MS'] ?? 20_000));
  for (;;) {
    const result = find();
    if (result !== undefined) return result;
    await once(emitter, event, { signal });
  }
}
