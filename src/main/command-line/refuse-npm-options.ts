import { UsageError } from './usage-error.ts';

/** The options that npm does not have. It takes them for its own when `--` is missing before them. */
const OPTIONS = ['from', 'to', 'label', 'scopes', 'expires', 'rate-limit', 'overlap', 'env-file'] as const;

/**
 * Refuses a command line from which npm has taken an option: `npm exec petstore import FILE --to URL` would otherwise
 * write to the default database. npm leaves such an option in a variable.
 *
 * @throws {UsageError}
 */
export function refuseNpmOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  const taken = OPTIONS.find(
    (name) =>
      // npm completes --to to an option of its own, --token-description.
      Object.keys(env).some((key) => key.startsWith(`npm_config_${name.replaceAll('-', '_')}`)) &&
      !argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)),
  );
  if (taken === undefined) return;
  throw new UsageError(`npm took --${taken} for an option of its own; run npx petstore instead`);
}
