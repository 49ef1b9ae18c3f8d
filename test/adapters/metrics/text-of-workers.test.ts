import { expect, it } from 'vitest';
import { textOfWorkers } from '../../../src/adapters/metrics/text-of-workers.ts';

it('no worker has no series', async () => {
  expect(await textOfWorkers()()).toBe('');
});
