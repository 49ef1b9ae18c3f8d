import type { Logger } from 'pino';
import { createMetricsApp } from '../../adapters/http/metrics-app.ts';
import { type HttpServer, listen } from '../../adapters/http/server/listen.ts';
import type { ServerLimits } from '../../adapters/http/wire/limits.ts';
import { type Config, InvalidConfig } from '../config/config.ts';
import { requestLog } from '../log/request-log.ts';

/** Few clients scrape, and none of them sends a body. */
const LIMITS = {
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 5_000,
  maxConnections: 100,
  maxHeldBytes: 8 * 1024 * 1024,
} as const satisfies Partial<ServerLimits>;

/**
 * Serves `/metrics`. Scrapes are not measured, and only their failures are logged.
 *
 * @param text called for each scrape
 * @throws {InvalidConfig} when it cannot listen
 */
export async function listenForMetrics(
  text: () => Promise<string>,
  { metricsHost: host, metricsPort: port = 0 }: Pick<Config, 'metricsHost' | 'metricsPort'>,
  log: Logger,
): Promise<HttpServer> {
  const quietLog = { ...requestLog(log), answered: () => {}, connectionTrouble: () => {} };
  try {
    return await listen(createMetricsApp(text, quietLog), { host, port, log: quietLog, limits: LIMITS });
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const message = error.message.replaceAll(/\s+/g, ' ');
    throw new InvalidConfig([`cannot listen on METRICS_HOST and METRICS_PORT: ${message}`]);
  }
}
