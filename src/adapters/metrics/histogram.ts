import type { MetricValueWithName, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

type Series = {
  readonly labels: Labels;
  /** How many values are in each bucket alone. The last bucket is for values above all bounds. */
  readonly counts: number[];
  sum: number;
};

/**
 * A histogram for the path of every request. prom-client's own looks the labels up at each `observe`, even of a child
 * that was made for them: see "Metrics, spans and audit lines go around ports" in docs/decisions.md.
 */
export class Histogram {
  readonly name: string;
  readonly #help: string;
  /** Upper bounds of the buckets, in ascending order. */
  readonly #bounds: readonly number[];
  readonly #series: Series[] = [];

  constructor(registry: Registry, name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.#help = help;
    this.#bounds = bounds;
    // The registry calls `get` and no other method: it makes the text from its result.
    registry.registerMetric(this as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  /**
   * Adds a series. Another one with the same labels would be a duplicate in the text.
   *
   * @returns takes the values of the series
   */
  with(labels: Labels): (value: number) => void {
    const bounds = this.#bounds;
    const series: Series = { labels, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 };
    this.#series.push(series);
    return (value) => {
      let bucket = 0;
      while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
      series.counts[bucket]!++;
      series.sum += value;
    };
  }

  async get() {
    const values = this.#series.flatMap((series) => this.#values(series));
    return { name: this.name, help: this.#help, type: 'histogram', values };
  }

  /** In the exposition form, where each bucket contains the ones before it. */
  #values({ labels, counts, sum }: Series): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = counts.map((inBucket, bucket) => {
      count += inBucket;
      const le = this.#bounds[bucket] ?? '+Inf';
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
