import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/adapters/metrics/create-metrics.ts';
import { seriesOf } from '../../support/metrics.ts';

it.each([
  [undefined, '', 'process_start_time_seconds'],
  [3, '{worker="3"}', 'process_start_time_seconds{worker="3"}'],
])('the series of worker %s have the label "%s"', async (worker, label, startTime) => {
  const { meter, text } = createMetrics('/v1/pets/:petId', worker);
  meter.idsAllocated(7);
  const series = seriesOf(await text());
  expect(series.get(`petstore_allocated_ids_total${label}`)).toBe(7);
  expect(series.has(startTime)).toBe(true);
  const labelled = series.keys().filter((name) => name.includes('worker="3"'));
  expect(labelled.toArray()).toHaveLength(worker === undefined ? 0 : series.size);
});
