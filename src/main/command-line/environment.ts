import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { PROGRAM } from '../config/build.ts';
import { UsageError } from '../program/failures.ts';
import type { Env } from '../program/process.ts';
import { COMMANDS } from './commands.ts';

/**
 * The environment, and the variables of a file that it leaves out or leaves empty.
 *
 * @throws {UsageError} when the file cannot be read
 */
export function withEnvFile(env: Env, path: string): Env {
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  try {
    return { ...parseEnv(readFileSync(path, 'utf8')), ...Object.fromEntries(given) };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const problem = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`;
    throw new UsageError(`the file of --env ${problem}: ${path}`);
  }
}

/** The options that npm does not have. It takes them for its own when `--` is missing before them. */
const OPTIONS = Object.values(COMMANDS)
  .flatMap(({ options = {} }) => ['--env <FILE>', ...Object.keys(options)])
  .flatMap((flags) => /^--(\S+) </.exec(flags)?.[1] ?? []);

/**
 * Refuses a command line from which npm has taken an option: `npm start import FILE --to URL` would otherwise
 * write to the default database. npm leaves such an option in a variable.
 *
 * @throws {UsageError}
 */
export function refuseNpmOptions(argv: readonly string[], env: Env): void {
  const taken = OPTIONS.find(
    (name) =>
      // npm completes --to to an option of its own, --token-description.
      Object.keys(env).some((key) => key.startsWith(`npm_config_${name.replaceAll('-', '_')}`)) &&
      !argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)),
  );
  if (taken === undefined) return;
  throw new UsageError(`npm took --${taken} for an option of its own; run ${PROGRAM} instead`);
}
