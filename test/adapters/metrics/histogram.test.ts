import { Histogram as ReferenceHistogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Histogram } from '../../../src/adapters/metrics/histogram.ts';

const BOUNDS = [0.001, 0.25, 1, 10];
const VALUES = [0, 0.0009, 0.001, 0.0011, 0.25, 0.3, 1, 9.99, 10, 10.01, 1e6];

describe('a histogram', () => {
  it('has the same text as one of prom-client', async () => {
    const ours = new Registry();
    const reference = new Registry();
    const histogram = new Histogram(ours, 'a_seconds', 'Help \\ "me".', BOUNDS);
    const expected = new ReferenceHistogram({
      name: 'a_seconds',
      help: 'Help \\ "me".',
      buckets: BOUNDS,
      labelNames: ['route', 'method'],
      registers: [reference],
    });
    for (const labels of [
      { route: '/v1/pets', method: 'GET' },
      { route: 'a"b\\c\nd', method: 'POST' },
    ]) {
      const observe = histogram.with(labels);
      for (const value of VALUES) {
        observe(value);
        expected.observe(labels, value);
      }
    }
    expect(await ours.metrics()).toBe(await reference.metrics());
  });

  it('has a series that has no value yet', async () => {
    const registry = new Registry();
    new Histogram(registry, 'b', 'B', [1]).with({ of: 'x' });
    expect(await registry.metrics()).toBe(
      '# HELP b B\n# TYPE b histogram\nb_bucket{le="1",of="x"} 0\nb_bucket{le="+Inf",of="x"} 0\nb_sum{of="x"} 0\nb_count{of="x"} 0\n',
    );
  });
});
