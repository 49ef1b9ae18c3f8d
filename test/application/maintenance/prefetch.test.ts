import { expect, it } from 'vitest';
import { prefetch } from '../../../src/application/maintenance/archive-source.ts';

it('prefetch rejects when the consumer gets to the failed item, and not before', async () => {
  const broken = new Error('broken');
  const items = prefetch(
    (async function* () {
      yield 1;
      throw broken;
    })(),
  );

  expect(await items.next()).toStrictEqual({ value: 1, done: false });
  // Before the next turn of the event loop, Node reports a rejection that nothing handles, and vitest fails.
  await new Promise(setImmediate);
  await expect(items.next()).rejects.toBe(broken);
});
