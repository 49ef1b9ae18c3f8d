import type { StorageKind } from '../../application/ports/storage-kind.ts';
import { type Given, readRows } from './rows.ts';
import { STORAGES } from './storages.ts';
import { readTracing } from './tracing.ts';
import { variables } from './variables.ts';

/** The configuration of the service, from its environment. */
export type Config = ReturnType<typeof readConfig>;

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
const ENDED = 'WORKERS has ended: start several services, each with a PORT of its own, behind a proxy';

/**
 * Reads the variables of the service and of OpenTelemetry. An empty one counts as absent.
 *
 * @throws {StartError} naming every invalid variable and its rule, but never its value, which may be a secret
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  storages: readonly StorageKind[] = STORAGES,
) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, text]) => text)) as Given;
  const { values, problems } = readRows(variables(storages), given);
  const { certFile, keyFile, corsOrigins = [], ...others } = values;
  const { tracing, ...traces } = readTracing(given);
  if ((certFile === undefined) !== (keyFile === undefined)) {
    problems.push('TLS_CERT and TLS_KEY must be set together');
  }
  if ('WORKERS' in given) problems.push(ENDED);
  if (problems.length + traces.problems.length > 0) throw new StartError([...problems, ...traces.problems]);
  return {
    ...others,
    corsOrigins,
    /** The PEM files of the certificate and its key. `undefined`: plain HTTP. */
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    /** `undefined`: traces are off. */
    tracing,
    /** Lines for the log. */
    warnings: traces.warnings,
  };
}
