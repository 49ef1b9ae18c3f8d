import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { HttpServer } from '../../adapters/http/server/listen.ts';
import type { ServerLimits } from '../../adapters/http/server/limits.ts';
import { composeService } from '../composition/compose-service.ts';
import { loadMetrics, measuredLog } from '../composition/measure.ts';
import type { Config } from '../config/config.ts';
import { storageHost } from '../program/process.ts';
import { auditLog } from '../log/audit.ts';
import { requestLog } from '../log/request-log.ts';
import { listenAt } from './address.ts';
import { certificateRenewal, readCertificate } from './certificate.ts';
import { serveMetrics, urlOf } from './serve-metrics.ts';
import { isLoopback, type MadeKey, startKeys } from './start-keys.ts';

export type Service = {
  /** For example `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly metricsUrl?: string | undefined;
  /** Only a start that finds no key makes a key. */
  readonly madeKey: MadeKey | undefined;
  /** Reads the certificates of the service and its storage again, for new connections. */
  renewCertificates(): Promise<void>;
  /** @returns how many connections were cut off */
  stop(): Promise<number>;
};

export type StartOptions = {
  readonly now?: () => Date;
  readonly recordUsesEveryMs?: number;
  readonly limits?: Partial<ServerLimits>;
  /** Whether standard error goes to a log. */
  readonly isLogged?: boolean;
};

/** The use of one key is written at most once per 60 s. Its first use is written within this interval. */
const RECORD_USES_EVERY_MS = 10_000;

/** The text does not name TRUST_PROXY, which lets clients forge addresses if there is no proxy. */
const NO_PROXY =
  'other machines can reach this port, and no setting names a proxy; put a proxy in front of this port that limits ' +
  'the connections and the time of each address';

const LAST_USES_MS = 1_000;

/**
 * Opens the storage, composes the service and listens. Closes what it has opened when a later step fails.
 *
 * @throws {StorageSetupError}
 * @throws {StorageUnavailable}
 * @throws {StartError} when others could reach a service without API keys, or the address or certificate is wrong
 */
export async function start(config: Config, log: Logger, options: StartOptions = {}): Promise<Service> {
  const { now = () => new Date(), recordUsesEveryMs = RECORD_USES_EVERY_MS, limits, isLogged } = options;
  const tls = config.tls && (await readCertificate(config.tls, log));
  await using opening = new AsyncDisposableStack();
  const metrics = config.metricsPort === undefined ? undefined : await loadMetrics();
  const metricsServer = metrics && opening.use(await serveMetrics(metrics.text, config, log));
  const { kind, url } = config.storage;
  const meter = metrics && { meter: metrics.meter };
  const storage = await kind.openService(url, {
    log: storageHost(log),
    autoMigrate: config.autoMigrate,
    ...meter,
  });
  opening.defer(() => storage.close());
  // Only a service with traces loads the SDK of OpenTelemetry.
  const tracing =
    config.tracing && (await import('../tracing/open-tracing.ts')).openTracing(config.tracing, config, log);
  opening.defer(async () => tracing?.stop());
  const { knownKeys, madeKey } = await startKeys(config, storage.keys, { now, log, isLogged });

  const requestsLog = tracing?.requestLog(log) ?? requestLog(log);
  const measuredRequestsLog = metrics ? measuredLog(requestsLog, metrics) : requestsLog;
  const isDraining = () => server.isDraining;
  const { publicUrl, trustProxy, corsOrigins, rateLimit } = config;
  const settings = { publicUrl, trustProxy, corsOrigins, rateLimit };
  const parts = { storage, knownKeys, now, log: measuredRequestsLog, isDraining, metrics, tracing };
  const { app, recordUses } = composeService({ ...settings, ...parts });
  const server: HttpServer = await listenAt('', app, {
    host: config.host,
    port: config.port,
    log: measuredRequestsLog,
    tls,
    limits: { maxConnections: config.maxConnections, ...limits },
  });
  opening.use(recordPeriodically(recordUses, recordUsesEveryMs, log));
  if (madeKey !== undefined) {
    auditLog(log).info({ audit: 'key.made', keyId: madeKey.id, keyLabel: madeKey.label }, 'audit');
  }
  if (!isLoopback(config.host) && !config.trustProxy && config.publicUrl === undefined) log.info(NO_PROXY);

  const openedParts = opening.move();
  const stop = async () => {
    const cutOff = await server.drain(config.shutdownTimeoutMs, config.shutdownDelayMs);
    await openedParts.disposeAsync();
    return cutOff;
  };
  const renewCertificate =
    config.tls && certificateRenewal(config.tls, (pair) => server.renewCertificate(pair), log);
  let stopped: Promise<number> | undefined;
  return {
    url: urlOf(config, server),
    metricsUrl: metricsServer?.url,
    madeKey,
    async renewCertificates() {
      renewCertificate?.();
      await storage.renewCertificates?.();
    },
    stop: () => (stopped ??= stop()),
  };
}

/** Writes the uses of API keys until the result is disposed of. */
function recordPeriodically(recordUses: () => Promise<void>, everyMs: number, log: Logger): AsyncDisposable {
  const warn = (err: unknown) => log.warn({ err }, 'the times of last use of API keys could not be stored');
  const record = () => recordUses().catch(warn);
  const timer = setInterval(() => void record(), everyMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      // An unresponsive storage must not delay the stop.
      await Promise.race([record(), sleep(LAST_USES_MS, undefined, { ref: false })]);
    },
  };
}
