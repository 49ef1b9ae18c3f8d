import * as v from 'valibot';
import type { StorageKind } from '../../application/ports/storage-kind.ts';
import { STORAGES } from './storages.ts';
import { readTracing, type TracingConfig } from './tracing.ts';
import { problemLines, type Variables, variables } from './variables.ts';

/** The configuration of the service, from its environment. */
export type Config = Readonly<ReturnType<typeof configOf>> & {
  /** Lines for the log. */
  readonly warnings: readonly string[];
};

export type TlsFiles = NonNullable<Config['tls']>;

/** The program cannot start: a variable, a file or an address is wrong. */
export class StartError extends Error {
  readonly fault = 'operator';
  /** A printable line for each problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'StartError';
    this.problems = problems;
  }
}

/** A variable of earlier builds, and what takes its place. */
const ENDED =
  'WORKERS has ended: run several services behind a proxy, as docs/operations.md#several-services shows';

/**
 * Reads the variables of the service and of OpenTelemetry. An empty one counts as absent.
 *
 * @throws {StartError} naming every invalid variable and its rule, but never its value, which may be a secret
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  storages: readonly StorageKind[] = STORAGES,
): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
  const { success, output, issues } = v.safeParse(variables(storages), given);
  const { tracing, problems, warnings } = readTracing(given);
  const all = [...problemLines(issues), ...problems, ...('WORKERS' in given ? [ENDED] : [])];
  if (!success || all.length > 0) throw new StartError(all);
  return { ...configOf(output, tracing), warnings };
}

function configOf(given: Variables, tracing: TracingConfig | undefined) {
  const { TLS_CERT: certFile, TLS_KEY: keyFile } = given;
  return {
    host: given.HOST,
    /** 0 takes a free port. */
    port: given.PORT,
    storage: given.DATABASE_URL,
    autoMigrate: given.AUTO_MIGRATE,
    /** API keys in addition to those in the storage. `undefined` when `API_KEYS` is not set. */
    apiKeys: given.API_KEYS,
    /** The base of absolute URLs, without a trailing slash. `undefined`: taken from each request. */
    publicUrl: given.PUBLIC_URL,
    trustProxy: given.TRUST_PROXY,
    corsOrigins: given.CORS_ORIGINS ?? [],
    /** The limit of an API key without its own. `undefined`: no limit. */
    rateLimit: given.RATE_LIMIT,
    maxConnections: given.MAX_CONNECTIONS,
    metricsHost: given.METRICS_HOST,
    /** 0 takes a free port. `undefined`: nothing is measured. */
    metricsPort: given.METRICS_PORT,
    /** The PEM files of the certificate and its key. `undefined`: plain HTTP. */
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    logLevel: given.LOG_LEVEL,
    /** How long the service goes on accepting requests after the signal to stop. */
    shutdownDelayMs: given.SHUTDOWN_DELAY,
    /** How long requests in flight may take after that. */
    shutdownTimeoutMs: given.SHUTDOWN_TIMEOUT,
    /** `undefined`: traces are off. */
    tracing,
  };
}
