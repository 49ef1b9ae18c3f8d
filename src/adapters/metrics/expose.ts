import { Counter, Gauge, type Registry } from 'prom-client';

type Exposed<T> = { readonly name: string; readonly help: string; readonly read: () => T };

/**
 * Exposes counts that others keep, by the values of a label. A scrape reads them: counting a request is then one
 * addition, while prom-client's `inc` looks up the labels each time.
 */
export function exposeCounts(
  registry: Registry,
  { label, read, ...description }: Exposed<Iterable<readonly [string, number]>> & { readonly label: string },
): void {
  const counter: Counter = new Counter({
    ...description,
    labelNames: [label],
    registers: [registry],
    collect() {
      counter.reset();
      for (const [value, count] of read()) counter.inc({ [label]: value }, count);
    },
  });
}

/** Exposes a figure that can fall, read at each scrape. */
export function exposeFigure(
  registry: Registry,
  { read, ...description }: Exposed<number | Promise<number>>,
): void {
  const gauge: Gauge = new Gauge({
    ...description,
    registers: [registry],
    async collect() {
      gauge.set(await read());
    },
  });
}
