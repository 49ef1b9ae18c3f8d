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
  /** Where it listens, such as `http://127.0.0.1:3000`. With TLS it begins with `https:`. */
  readonly url: string;
  /** Where its metrics are, if it serves them. */
  readonly metricsUrl?: string | undefined;
  /** The API key that was made for this start, if one was. */
  readonly madeKey: MadeKey | undefined;
  /** Reads the certificates again, for new connections: its own, and those of its storage. */
  renewCertificates(): Promise<void>;
  /** Drains and closes; safe to call again. Resolves with the number of connections that had to be cut off. */
  stop(): Promise<number>;
};

export type StartOptions = {
  /** The clock. The clock of the system by default. */
  readonly now?: () => Date;
  /** How often the uses of API keys are written to the storage. 10 seconds by default. */
  readonly recordUsesEveryMs?: number;
  /** `SERVER_LIMITS` by default. */
  readonly limits?: Partial<ServerLimits>;
  /** Whether standard error is a log, in which a key must not be. Not by default. */
  readonly isLogged?: boolean;
};

/** More often than the repository writes one key's use, to show a first use soon. */
const RECORD_USES_EVERY_MS = 10_000;

/** It names no variable: without a proxy, TRUST_PROXY would let clients forge addresses. */
const NO_PROXY =
  'other machines can reach this port, and no setting names a proxy; a port that strangers can reach belongs behind ' +
  'one that limits the connections and the time of each address';

/** How long a stop waits for the last uses to be written. */
const LAST_USES_MS = 1_000;

/**
 * Opens the storage, composes the service and listens. Closes what it opened when a later step fails. Metrics are served
 * from before the storage is opened until after it is closed.
 *
 * @throws {StorageSetupError}
 * @throws {StorageUnavailable}
 * @throws {StartError} when the service has no API key and others could reach it, or when it cannot listen or use its
 *   certificate
 */
export async function start(config: Config, log: Logger, options: StartOptions = {}): Promise<Service> {
  const { now = () => new Date(), recordUsesEveryMs = RECORD_USES_EVERY_MS, limits, isLogged } = options;
  const tls = config.tls && (await readCertificate(config.tls, log));
  await using opening = new AsyncDisposableStack();
  const metrics = config.metricsPort === undefined ? undefined : await loadMetrics();
  const served = metrics && opening.use(await serveMetrics(metrics.text, config, log));
  const { kind, url } = config.storage;
  const meter = metrics && { meter: metrics.meter };
  const storage = await kind.openService(url, {
    log: storageHost(log),
    autoMigrate: config.autoMigrate,
    ...meter,
  });
  opening.defer(() => storage.close());
  // A service without traces does not load the SDK of OpenTelemetry.
  const tracing =
    config.tracing && (await import('../tracing/open-tracing.ts')).openTracing(config.tracing, config, log);
  opening.defer(async () => tracing?.stop());
  const { known, made } = await startKeys(config, storage.keys, { now, log, isLogged });

  const lines = tracing?.requestLog(log) ?? requestLog(log);
  const requests = metrics ? measuredLog(lines, metrics) : lines;
  const isDraining = () => server.isDraining;
  const { publicUrl, trustProxy, corsOrigins, rateLimit } = config;
  const settings = { publicUrl, trustProxy, corsOrigins, rateLimit };
  const parts = { storage, knownKeys: known, now, log: requests, isDraining, metrics, tracing };
  const { app, recordUses } = composeService({ ...settings, ...parts });
  const server: HttpServer = await listenAt('', app, {
    host: config.host,
    port: config.port,
    log: requests,
    tls,
    limits: { maxConnections: config.maxConnections, ...limits },
  });
  opening.use(recording(recordUses, recordUsesEveryMs, log));
  if (made !== undefined) {
    auditLog(log).info({ audit: 'key.made', keyId: made.id, keyLabel: made.label }, 'audit');
  }
  if (!isLoopback(config.host) && !config.trustProxy && config.publicUrl === undefined) log.info(NO_PROXY);

  const open = opening.move();
  const stop = async () => {
    const cutOff = await server.drain(config.shutdownTimeoutMs, config.shutdownDelayMs);
    await open.disposeAsync();
    return cutOff;
  };
  const renewCertificate =
    config.tls && certificateRenewal(config.tls, (pair) => server.renewCertificate(pair), log);
  let stopped: Promise<number> | undefined;
  return {
    url: urlOf(config, server),
    metricsUrl: served?.url,
    madeKey: made,
    async renewCertificates() {
      renewCertificate?.();
      await storage.renewCertificates?.();
    },
    stop: () => (stopped ??= stop()),
  };
}

/** Writes the uses of API keys to the storage, until it is disposed of. */
function recording(recordUses: () => Promise<void>, everyMs: number, log: Logger): AsyncDisposable {
  const notRecorded = (err: unknown) => log.warn({ err }, 'the use of keys was not recorded');
  const record = () => recordUses().catch(notRecorded);
  const timer = setInterval(() => void record(), everyMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      // A storage that does not answer does not delay the stop.
      await Promise.race([record(), sleep(LAST_USES_MS, undefined, { ref: false })]);
    },
  };
}
