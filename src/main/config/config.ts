import { availableParallelism } from 'node:os';
import * as v from 'valibot';
import type { Storage, StorageKind } from '../../application/ports/storage.ts';
import type { RateLimit } from '../../domain/api-key.ts';
import { namesOf, STORAGES } from './storages.ts';
import { readTracing, type TracingConfig } from './tracing.ts';
import { type Variables, variables } from './variables.ts';

/** The configuration of the service, from its environment. */
export type Config = {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly storage: Storage;
  readonly autoMigrate: boolean;
  /** API keys in addition to those in the storage. `undefined` when `API_KEYS` is not set. */
  readonly apiKeys: Variables['API_KEYS'];
  /** The base of absolute URLs, without a trailing slash. `undefined`: taken from each request. */
  readonly publicUrl: string | undefined;
  readonly trustProxy: boolean;
  readonly corsOrigins: readonly string[];
  /** The limit of an API key without its own. `undefined`: no limit. */
  readonly rateLimit: RateLimit | undefined;
  readonly maxConnections: number;
  readonly metricsHost: string;
  /** 0 takes a free port. `undefined`: nothing is measured. */
  readonly metricsPort: number | undefined;
  /** How many processes serve. More than one only on a storage that services can share. */
  readonly workers: number;
  /** The PEM files of the certificate and its key. `undefined`: plain HTTP. */
  readonly tls: TlsFiles | undefined;
  readonly logLevel: Variables['LOG_LEVEL'];
  /** How long the service goes on accepting requests after the signal to stop. */
  readonly shutdownDelayMs: number;
  /** How long requests in flight may take after that. */
  readonly shutdownTimeoutMs: number;
  /** `undefined`: traces are off. */
  readonly tracing: TracingConfig | undefined;
};

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };

/** The environment is invalid. Has one printable line for each invalid variable. */
export class InvalidConfig extends Error {
  readonly kind = 'invalid-config';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'InvalidConfig';
    this.problems = problems;
  }
}

/**
 * Reads the variables of the service and of OpenTelemetry. An empty one counts as absent.
 *
 * @throws {InvalidConfig} naming every invalid variable and its rule, but never its value, which may be a secret
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  storages: readonly StorageKind[] = STORAGES,
): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
  const { success, output, issues = [] } = v.safeParse(variables(storages), given);
  const { tracing, problems } = readTracing(given);
  if (!success || problems.length > 0) {
    const others = issues.map(({ path, message }) => `${String(path?.[0].key)} ${message}`);
    throw new InvalidConfig([...new Set([...others, ...problems])]);
  }
  const storage = output.DATABASE_URL;
  // `auto` is refused on every machine alike, however many cores it has.
  if (output.WORKERS !== 1 && !storage.kind.shared) {
    throw new InvalidConfig([
      'WORKERS must be 1 unless services can share the storage in DATABASE_URL, which ' +
        `${namesOf(storages.filter(({ shared }) => shared))} allows`,
    ]);
  }
  const { TLS_CERT: certFile, TLS_KEY: keyFile } = output;
  return {
    host: output.HOST,
    port: output.PORT,
    storage,
    autoMigrate: output.AUTO_MIGRATE,
    apiKeys: output.API_KEYS,
    publicUrl: output.PUBLIC_URL,
    trustProxy: output.TRUST_PROXY,
    corsOrigins: output.CORS_ORIGINS ?? [],
    rateLimit: output.RATE_LIMIT,
    maxConnections: output.MAX_CONNECTIONS,
    metricsHost: output.METRICS_HOST,
    metricsPort: output.METRICS_PORT,
    workers: output.WORKERS === 'auto' ? availableParallelism() : output.WORKERS,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    logLevel: output.LOG_LEVEL,
    shutdownDelayMs: output.SHUTDOWN_DELAY,
    shutdownTimeoutMs: output.SHUTDOWN_TIMEOUT,
    tracing: tracing && { ...tracing, databaseSystem: storage.kind.system },
  };
}
