import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type HttpServer, listen } from '../../adapters/http/server/listen.ts';
import type { ServerLimits } from '../../adapters/http/wire/limits.ts';
import type { ServiceStorage } from '../../application/ports/storage.ts';
import { compose } from '../compose.ts';
import type { Config } from '../config/config.ts';
import { auditLog } from '../log/audit-log.ts';
import { NO_TRACING, type Tracing } from '../tracing/tracing.ts';
import { certificateRenewal } from './certificate-renewal.ts';
import { type Certificate, expiryWarning, readCertificate } from './certificate.ts';
import { MADE_KEY_LABEL, type MadeKey, type StartKeys, startKeys } from './start-keys.ts';

export type Service = {
  /** Where it listens, such as `http://127.0.0.1:3000`. With TLS it begins with `https:`. */
  readonly url: string;
  /** The API key that was made for this start, if one was. */
  readonly madeKey: MadeKey | undefined;
  /** Reads `TLS_CERT` and `TLS_KEY` again. `undefined` without TLS. */
  readonly renewCertificate: (() => Promise<void>) | undefined;
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
  /** The keys in addition to those in the storage. By default `startKeys` decides. */
  readonly keys?: StartKeys;
};

/** More often than the repository writes one key's use, to show a first use soon. */
const RECORD_USES_EVERY_MS = 10_000;

/** How long a stop waits for the last uses to be written. */
const LAST_USES_MS = 1_000;

/**
 * Opens the storage, wires the adapters and listens. Closes what it opened when a later step fails.
 *
 * @throws {StorageSetupError}
 * @throws {StorageUnavailable}
 * @throws {InvalidConfig} when the service has no API key and others could reach it, or cannot use its certificate
 * @throws {NodeJS.ErrnoException} when it cannot listen
 */
export async function start(config: Config, log: Logger, options: StartOptions = {}): Promise<Service> {
  const warn = (message: string) => log.warn(message);
  const certificate = config.tls && (await readCertificate(config.tls));
  const storage = await config.storage.openForService({ log: { warn }, autoMigrate: config.autoMigrate });
  try {
    return await startOn(storage, config, certificate, log, options);
  } catch (error) {
    await storage.close();
    throw error;
  }
}

async function startOn(
  storage: ServiceStorage,
  config: Config,
  certificate: Certificate | undefined,
  log: Logger,
  { now = () => new Date(), recordUsesEveryMs = RECORD_USES_EVERY_MS, limits, keys: given }: StartOptions,
): Promise<Service> {
  const tracing = await tracingOf(config, log);
  const { pets, keys, probe, limiter } = tracing.storage(storage);
  const { known, made } = given ?? (await startKeys(config, keys, { now, log }));
  const resolve = compose({
    pets,
    keys,
    probe,
    ...(limiter !== undefined && { limiter }),
    settings: config,
    knownKeys: known,
    log: tracing.requestLog(log),
    tracing,
    now,
    isDraining: () => server.isDraining,
  });
  const server: HttpServer = await listen(resolve('app'), {
    host: config.host,
    port: config.port,
    log: resolve('log'),
    tls: certificate,
    limits: { maxConnections: config.maxConnections, ...limits },
  });
  const recordUses = async () => {
    const stored = resolve('storedTokens');
    await stored.recordUses().catch((err: unknown) => log.warn({ err }, 'the use of keys was not recorded'));
  };
  const recording = setInterval(() => void recordUses(), recordUsesEveryMs);
  const stop = async () => {
    const cutOff = await server.drain(config.shutdownTimeoutMs, config.shutdownDelayMs);
    clearInterval(recording);
    // A storage that does not answer does not delay the stop.
    const usesRecorded = Promise.race([recordUses(), sleep(LAST_USES_MS, undefined, { ref: false })]);
    await Promise.all([usesRecorded, tracing.stop()]);
    await storage.close();
    return cutOff;
  };
  const warning = certificate && expiryWarning(certificate, now());
  if (warning !== undefined) log.warn(warning);
  if (made !== undefined) {
    auditLog(log).info({ audit: 'key.made', keyId: made.id, keyLabel: MADE_KEY_LABEL }, 'audit');
  }
  let stopped: Promise<number> | undefined;
  return {
    url: urlOf(config, server),
    renewCertificate: config.tls && certificateRenewal(config.tls, server, { now, log }),
    madeKey: made,
    stop: () => (stopped ??= stop()),
  };
}

/** The SDK of OpenTelemetry is loaded only if traces are on. */
async function tracingOf({ tracing }: Config, log: Logger): Promise<Tracing> {
  if (tracing === undefined) return NO_TRACING;
  const { openTracing } = await import('../tracing/open-tracing.ts');
  return openTracing(tracing, log);
}

function urlOf({ host, tls }: Config, { port }: HttpServer): string {
  const scheme = tls === undefined ? 'http' : 'https';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
