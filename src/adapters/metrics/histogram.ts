import type { MetricValueWithName, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

/**
 * Exposes a histogram for the path of every request. prom-client's own looks the labels up at each `observe`, even of a
 * child that was made for them: see "Metrics, spans and audit lines go around ports" in docs/decisions.md.
 *
 * @param bounds of the buckets, from above, in ascending order
 * @returns adds a series and returns what takes its values. A series with the labels of another one would be a duplicate
 */
export function exposeHistogram(registry: Registry, name: string, help: string, bounds: readonly number[]) {
  const allValues: (() => MetricValueWithName<string>[])[] = [];
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    values: allValues.flatMap((values) => values()),
  });
  // The registry calls `get` and no other method.
  registry.registerMetric({ name, get } as unknown as Parameters<Registry['registerMetric']>[0]);
  return (labels: Labels): ((value: number) => void) => {
    // How many values are in each bucket alone. The last bucket is for values above all bounds.
    const counts = Array.from({ length: bounds.length + 1 }, () => 0);
    let sum = 0;
    allValues.push(() => {
      // In the exposition form, each bucket contains the ones before it.
      let count = 0;
      const buckets = counts.map((inBucket, bucket) => {
        count += inBucket;
        const le = bounds[bucket] ?? '+Inf';
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ];
    });
    return (value) => {
      let bucket = 0;
      while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
      counts[bucket]!++;
      sum += value;
    };
  };
}
