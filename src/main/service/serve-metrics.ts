import type { Logger } from 'pino';
import { createMetricsApp } from '../../adapters/http/app.ts';
import type { HttpServer } from '../../adapters/http/server/listen.ts';
import type { ServerLimits } from '../../adapters/http/server/limits.ts';
import type { Config } from '../config/config.ts';
import { requestLog } from '../log/request-log.ts';
import { listenAt } from './address.ts';

/** Few clients read `/metrics`, and none sends a body. The limits save file descriptors for the API and the storage. */
const LIMITS = {
  headersTimeoutMs: 2_000,
  requestTimeoutMs: 2_000,
  keepAliveTimeoutMs: 2_000,
  idleTimeoutMs: 5_000,
  maxConnections: 8,
  maxHeldBytes: 8 * 1024 * 1024,
} as const satisfies Partial<ServerLimits>;

const LAST_SCRAPE_TIMEOUT_MS = 200;

/**
 * Requests are not measured, and only their failures are logged.
 *
 * @param metricsText called once per request
 * @throws {StartError} when the address cannot be used
 */
export async function serveMetrics(
  metricsText: () => Promise<string>,
  { metricsHost: host, metricsPort: port = 0 }: Pick<Config, 'metricsHost' | 'metricsPort'>,
  log: Logger,
): Promise<AsyncDisposable & { readonly url: string }> {
  const quietLog = { ...requestLog(log), answered: () => {}, connectionError: () => {} };
  const app = createMetricsApp(metricsText, quietLog);
  const server = await listenAt('METRICS_', app, { host, port, log: quietLog, limits: LIMITS });
  return {
    url: `${urlOf({ host }, server)}/metrics`,
    [Symbol.asyncDispose]: async () => void (await server.drain(LAST_SCRAPE_TIMEOUT_MS)),
  };
}

export function urlOf(
  { host, tls }: Pick<Config, 'host'> & { readonly tls?: unknown },
  { port }: HttpServer,
): string {
  const scheme = tls === undefined ? 'http' : 'https';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
