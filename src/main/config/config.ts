import type { StorageKind } from '../../application/ports/storage-kind.ts';
import { readRows, type SetVariables } from './rows.ts';
import { STORAGES } from './storages.ts';
import { readTracing } from './tracing.ts';
import { variables } from './variables.ts';

export type Config = ReturnType<typeof readConfig>;

export type TlsFiles = NonNullable<Config['tls']>;

/** A wrong variable, file or address stops the start. */
export class StartError extends Error {
  readonly fault = 'operator';
  /** Each is a printable line. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'StartError';
    this.problems = problems;
  }
}

/** Earlier builds had the variable WORKERS. */
const NO_WORKERS = 'WORKERS was removed: start several services, each with a PORT of its own, behind a proxy';

/**
 * An empty variable counts as absent.
 *
 * @throws {StartError} with each invalid variable and its rule, but no value, because a value may be a secret
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  storages: readonly StorageKind[] = STORAGES,
) {
  const setVariables = Object.fromEntries(Object.entries(env).filter(([, text]) => text)) as SetVariables;
  const { values, problems } = readRows(variables(storages), setVariables);
  const { certFile, keyFile, corsOrigins = [], ...settings } = values;
  const { tracing, problems: tracingProblems, warnings } = readTracing(setVariables);
  if ((certFile === undefined) !== (keyFile === undefined)) {
    problems.push('TLS_CERT and TLS_KEY must be set together');
  }
  if ('WORKERS' in setVariables) problems.push(NO_WORKERS);
  if (problems.length + tracingProblems.length > 0) throw new StartError([...problems, ...tracingProblems]);
  return {
    ...settings,
    corsOrigins,
    /** Paths of PEM files. `undefined`: plain HTTP. */
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    /** `undefined`: traces are off. */
    tracing,
    warnings,
  };
}
