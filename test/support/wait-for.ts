import { type EventEmitter, once } from 'node:events';

/**
 * The first result that is not `undefined`. Asks at once, and again after each event.
 *
 * @throws after 20 s, or TEST_WAIT_MS milliseconds: what has not come then never comes
 */
export async function waitFor<T>(
  emitter: EventEmitter,
  event: string,
  find: () => T | undefined,
): Promise<T> {
  const signal = AbortSignal.timeout(Number(process.env['TEST_WAIT_MS'] ?? 20_000));
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    await once(emitter, event, { signal });
  }
}
