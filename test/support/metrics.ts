import { InMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import { memoryStorage } from '../../src/adapters/memory/storage.ts';
import type { ServicePorts } from '../../src/application/ports/storage-kind.ts';
import { storageHost } from './storage-host.ts';

/** What a metrics page says: the value of each series, by its name and labels as they are in the text. */
export type Series = ReadonlyMap<string, number>;

/** Parses a text in the format of Prometheus. Throws for a line of any other form, and for a series that comes twice. */
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

/** What `createMetrics` takes, where it does not matter. */
export const BUILD = { version: '1.2.3', commit: '0123456789ab' } as const;

/** A storage in memory to measure, with other parts in place of its own. */
export async function aStorage(parts: Partial<ServicePorts> = {}): Promise<Required<ServicePorts>> {
  const storage = await memoryStorage.openService('memory:', { autoMigrate: true, log: storageHost() });
  return { limiter: new InMemoryRateLimiter(), ...storage, ...parts };
}

/** Reads the metrics of a service, without any check. */
export async function scrape(metricsUrl: string | undefined): Promise<Series> {
  const response = await fetch(metricsUrl ?? 'METRICS_PORT is not set');
  if (response.status !== 200) throw new Error(await response.text());
  return seriesOf(await response.text());
}

/** The series whose names begin so, without those that are 0. */
export function nonZero(series: Series, prefix: string): Record<string, number> {
  return Object.fromEntries([...series].filter(([name, value]) => name.startsWith(prefix) && value !== 0));
}
