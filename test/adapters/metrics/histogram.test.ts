import { Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { exposeHistogram } from '../../../src/adapters/metrics/histogram.ts';

const BOUNDS = [0.001, 0.25, 1, 10];
const VALUES = [0, 0.0009, 0.001, 0.0011, 0.25, 0.3, 1, 9.99, 10, 10.01, 1e6];

it('a histogram has the same text as one of prom-client, also for a series without a value', async () => {
  const [ours, reference] = [new Registry(), new Registry()];
  const help = 'Help \\ "me".';
  const addSeries = exposeHistogram(ours, 'a_seconds', help, BOUNDS);
  const labelNames = ['route', 'method'];
  const expected = new Histogram({
    name: 'a_seconds',
    help,
    buckets: BOUNDS,
    labelNames,
    registers: [reference],
  });
  for (const [labels, values] of [
    [{ route: '/v1/pets', method: 'GET' }, VALUES],
    [{ route: 'a"b\\c\nd', method: 'POST' }, VALUES],
    [{ route: 'none', method: 'GET' }, []],
  ] as const) {
    const observe = addSeries(labels);
    expected.zero(labels);
    for (const value of values) {
      observe(value);
      expected.observe(labels, value);
    }
  }
  expect(await ours.metrics()).toBe(await reference.metrics());
});
