import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { HttpServer } from '../../adapters/http/server/listen.ts';
import type { TlsPair } from '../../adapters/http/server/create-limited-server.ts';
import type { ServerLimits } from '../../adapters/http/server/limits.ts';
import type { Metrics } from '../../adapters/metrics/create-metrics.ts';
import type { ServicePorts } from '../../application/ports/storage-kind.ts';
import { StoredTokenVerifier } from '../../application/keys/token-verifiers.ts';
import { compose } from '../program/compose.ts';
import {
  APP,
  KNOWN_KEYS,
  LIMITER,
  ON_TOKEN_REFUSED,
  registerHttp,
  SETTINGS,
  TOKENS,
} from '../program/register-http.ts';
import { KEYS, NOW, registerKeys } from '../program/register-keys.ts';
import { PETS, registerPets, TRACE } from '../program/register-pets.ts';
import type { Config } from '../config/config.ts';
import { storageHost } from '../program/process.ts';
import { auditLog } from '../log/audit.ts';
import { requestLog } from '../log/request-log.ts';
import type { Tracing } from '../tracing/open-tracing.ts';
import { listenAt, requireHost } from './address.ts';
import { certificateRenewal, readCertificate } from './certificate.ts';
import { loadMetrics, measuredApp, measuredLog } from './measure.ts';
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
  'other machines can reach this port, and no setting tells of a proxy; a port that strangers can reach belongs behind ' +
  'one, as docs/operations.md#a-proxy-in-front shows';

/** How long a stop waits for the last uses to be written. */
const LAST_USES_MS = 1_000;

/**
 * Opens the storage, wires the adapters and listens. Closes what it opened when a later step fails. Metrics are served
 * from before the storage is opened until after it is closed.
 *
 * @throws {StorageSetupError}
 * @throws {StorageUnavailable}
 * @throws {StartError} when the service has no API key and others could reach it, or when it cannot listen or use its
 *   certificate
 */
export async function start(config: Config, log: Logger, options: StartOptions = {}): Promise<Service> {
  const tls = config.tls && (await readCertificate(config.tls, log));
  await requireHost(config.host);
  await using opening = new AsyncDisposableStack();
  const metrics = config.metricsPort === undefined ? undefined : await loadMetrics();
  const served = metrics && opening.use(await serveMetrics(metrics.text, config, log));
  const { kind, url } = config.storage;
  const storage = await kind.openService(url, {
    log: storageHost(log),
    autoMigrate: config.autoMigrate,
    ...(metrics !== undefined && { meter: metrics.meter }),
  });
  opening.defer(() => storage.close());
  // A service without traces does not load the SDK of OpenTelemetry.
  const tracing =
    config.tracing && (await import('../tracing/open-tracing.ts')).openTracing(config.tracing, config, log);
  opening.defer(async () => tracing?.stop());
  const opened = { storage: tracing?.storage(storage) ?? storage, tracing, metrics, tls };
  const { drain, renewCertificate, ...service } = await startOn(config, log, opened, options);
  if (!isLoopback(config.host) && !config.trustProxy && config.publicUrl === undefined) log.info(NO_PROXY);
  const open = opening.move();
  const stop = async () => {
    const cutOff = await drain();
    await open.disposeAsync();
    return cutOff;
  };
  const renewCertificates = async () => {
    renewCertificate?.();
    await storage.renewCertificates?.();
  };
  let stopped: Promise<number> | undefined;
  return { ...service, metricsUrl: served?.url, renewCertificates, stop: () => (stopped ??= stop()) };
}

type Opened = {
  readonly storage: ServicePorts;
  readonly tracing: Tracing | undefined;
  readonly metrics: Metrics | undefined;
  readonly tls: TlsPair | undefined;
};

/** `drain` ends what uses the storage. It resolves with the number of connections that had to be cut off. */
async function startOn(
  config: Config,
  log: Logger,
  { storage, tracing, metrics, tls }: Opened,
  { now = () => new Date(), recordUsesEveryMs = RECORD_USES_EVERY_MS, limits, isLogged }: StartOptions,
) {
  const root = compose(registerPets, registerKeys, registerHttp).register(NOW, { useValue: now });
  const limited = { ...storage, limiter: storage.limiter ?? root.resolve(LIMITER) };
  const { pets, keys, probe, limiter } = metrics?.storage(limited) ?? limited;
  root.register(PETS, { useValue: pets }).register(KEYS, { useValue: keys });
  root.register(LIMITER, { useValue: limiter });
  if (tracing !== undefined) root.register(TRACE, { useValue: tracing.useCase });
  const { known, made } = await startKeys(config, keys, { now, log, isLogged });
  root.register(KNOWN_KEYS, { useValue: known });
  if (metrics !== undefined) {
    root.register(ON_TOKEN_REFUSED, { useValue: metrics.onTokenRefused });
    root.register(TOKENS, { useValue: metrics.tokens(root.resolve(TOKENS)) });
  }
  const lines = tracing?.requestLog(log) ?? requestLog(log);
  const requests = metrics ? measuredLog(lines, metrics) : lines;
  const isDraining = () => server.isDraining;
  root.register(SETTINGS, { useValue: { ...config, probe, log: requests, isDraining } });
  const bare = root.resolve(APP);
  const traced = tracing?.app(bare) ?? bare;
  const server: HttpServer = await listenAt('', metrics ? measuredApp(traced, metrics) : traced, {
    host: config.host,
    port: config.port,
    log: requests,
    tls,
    limits: { maxConnections: config.maxConnections, ...limits },
  });
  const notRecorded = (err: unknown) => log.warn({ err }, 'the use of keys was not recorded');
  const recordUses = () => root.resolve(StoredTokenVerifier).recordUses().catch(notRecorded);
  const recording = setInterval(() => void recordUses(), recordUsesEveryMs);
  const drain = async () => {
    const cutOff = await server.drain(config.shutdownTimeoutMs, config.shutdownDelayMs);
    clearInterval(recording);
    // A storage that does not answer does not delay the stop.
    await Promise.race([recordUses(), sleep(LAST_USES_MS, undefined, { ref: false })]);
    return cutOff;
  };
  if (made !== undefined) {
    auditLog(log).info({ audit: 'key.made', keyId: made.id, keyLabel: made.label }, 'audit');
  }
  return {
    url: urlOf(config, server),
    madeKey: made,
    renewCertificate:
      config.tls && certificateRenewal(config.tls, (pair) => server.renewCertificate(pair), log),
    drain,
  };
}
