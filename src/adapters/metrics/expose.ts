import { Counter, Gauge, type Registry } from 'prom-client';

type Description = { readonly name: string; readonly help: string };
type Counted<Value> = Description & { readonly label: string; readonly values: readonly Value[] };

/** @param values the labels that begin at 0, because a counter that begins at 1 shows no increase */
export function exposeCounter<Value extends string | number>(
  registry: Registry,
  { label, values, ...description }: Counted<Value>,
): (value: Value) => void {
  const counter = new Counter({ ...description, labelNames: [label], registers: [registry] });
  for (const value of values) counter.inc({ [label]: value }, 0);
  return (value) => counter.inc({ [label]: value });
}

export function exposeGauge(
  registry: Registry,
  { read, ...description }: Description & { readonly read: () => number | Promise<number> },
): void {
  const gauge: Gauge = new Gauge({
    ...description,
    registers: [registry],
    async collect() {
      gauge.set(await read());
    },
  });
}
