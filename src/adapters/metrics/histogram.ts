import type { MetricValueWithName, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

/** The values of one set of labels. */
export class Series {
  readonly labels: Labels;
  readonly #bounds: readonly number[];
  /** How many values are in each bucket alone. The last bucket is for values above all bounds. */
  readonly #counts: number[];
  #sum = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += value;
  }

  /** In the exposition form, where each bucket contains the ones before it. */
  values(name: string): MetricValueWithName<string>[] {
    const { labels } = this;
    let count = 0;
    const buckets = this.#counts.map((inBucket, bucket) => {
      count += inBucket;
      const le = this.#bounds[bucket] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

/**
 * A histogram for the path of every request. prom-client's own looks the labels up at each `observe`, even of a child
 * that was made for them.
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
    // The registry calls `get` and no other method: it makes the text and the sum over all workers from its result.
    registry.registerMetric(this as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  /** Adds a series. Keep it: another one with the same labels would be a duplicate in the text. */
  with(labels: Labels): Series {
    const series = new Series(labels, this.#bounds);
    this.#series.push(series);
    return series;
  }

  async get() {
    const values = this.#series.flatMap((series) => series.values(this.name));
    return { name: this.name, help: this.#help, type: 'histogram', values, aggregator: 'sum' };
  }
}
