import { type EventEmitter, once } from 'node:events';

/** The first result that is not `undefined`. Asks at once, and again after each event. */
export async function waitFor<T>(
  emitter: EventEmitter,
  event: string,
  find: () => T | undefined,
): Promise<T> {
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    await once(emitter, event);
  }
}
