import { InMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import { memoryStorage } from '../../src/adapters/memory/storage.ts';
import type { ServicePorts } from '../../src/application/ports/storage-kind.ts';
import { storageHost } from './storage-host.ts';

/** The values on a metrics page. Each key is the name and the labels of a series, as on the page. */
export type Series = ReadonlyMap<string, number>;

/** Parses a text in the format of Prometheus. Throws if a line has another form, or if a series comes twice. */
export function seriesOf(text: string): Series {
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# (?:HELP|TYPE) \S+ \S/.test(line)) continue;
    const match = /^([a-zA-Z_:][\w:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?)*\})?) (\S+)$/.exec(line);
    if (match === null) throw new Error(`not a sample: ${line}`);
    const [, name = '', value] = match;
    if (series.has(name)) throw new Error(`twice: ${name}`);
    series.set(name, Number(value));
  }
  return series;
}

/** The version and the commit for `createMetrics` in tests that do not depend on them. */
export const BUILD = { version: '1.2.3', commit: '0123456789ab' } as const;

/** The ports of an in-memory storage. Each port in `parts` replaces the port of the same name. */
export async function aStorage(parts: Partial<ServicePorts> = {}): Promise<Required<ServicePorts>> {
  const storage = await memoryStorage.openService('memory:', { autoMigrate: true, log: storageHost() });
  return { limiter: new InMemoryRateLimiter(), ...storage, ...parts };
}

/** Reads the metrics of a service. */
export async function scrape(metricsUrl: string | undefined): Promise<Series> {
  const response = await fetch(metricsUrl ?? 'METRICS_PORT is not set');
  if (response.status !== 200) throw new Error(await response.text());
  return seriesOf(await response.text());
}

/** The series whose names begin with `prefix` and whose values are not 0. */
export function nonZero(series: Series, prefix: string): Record<string, number> {
  return Object.fromEntries([...series].filter(([name, value]) => name.startsWith(prefix) && value !== 0));
}
