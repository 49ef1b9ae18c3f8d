import { describe, expect, it, onTestFinished } from 'vitest';
import { prefetch } from '../../../src/application/moving/prefetch.ts';

describe('prefetch', () => {
  it('rejects when the consumer gets to the failed item, and not before', async () => {
    const broken = new Error('broken');
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));

    const items = prefetch(
      (async function* () {
        yield 1;
        throw broken;
      })(),
    );

    expect(await items.next()).toStrictEqual({ value: 1, done: false });
    // Node reports a rejection that nothing handles before it starts the next turn of the event loop.
    await new Promise(setImmediate);
    expect(unhandled).toStrictEqual([]);
    await expect(items.next()).rejects.toBe(broken);
  });
});
