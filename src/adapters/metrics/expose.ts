import { Counter, Gauge, type Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

type Description = { readonly name: string; readonly help: string };

/**
 * Exposes counts that others keep. A scrape reads them: counting a request is then one addition, while prom-client's
 * `inc` looks up the labels each time.
 */
export function exposeCounts(
  registry: Registry,
  { name, help, labelNames = [] }: Description & { readonly labelNames?: readonly string[] },
  read: () => Iterable<readonly [Labels, number]>,
): void {
  const counter: Counter = new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      counter.reset();
      for (const [labels, count] of read()) counter.inc(labels, count);
    },
  });
}

/** Exposes counts that have a label each. Whoever counts adds to the values of `counts`. */
export function exposeCountsBy(
  registry: Registry,
  label: string,
  counts: Readonly<Record<string, number>>,
  description: Description,
): void {
  exposeCounts(registry, { ...description, labelNames: [label] }, () =>
    Object.entries(counts).map(([value, count]) => [{ [label]: value }, count] as const),
  );
}

/** Exposes a figure that can fall, read at each scrape. */
export function exposeFigure(
  registry: Registry,
  description: Description,
  read: () => number | Promise<number>,
): void {
  const gauge: Gauge = new Gauge({
    ...description,
    registers: [registry],
    async collect() {
      gauge.set(await read());
    },
  });
}
