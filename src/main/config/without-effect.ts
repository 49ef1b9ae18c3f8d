import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { VARIABLE_NAMES } from './variables.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * @returns a line per variable that may be a misspelt variable of ours (one letter added, missing or wrong, or two
 *   neighbours swapped), and a line for the file `.env`
 */
export function unusedVariableWarnings(env: Variables): readonly string[] {
  const foreignNames = Object.keys(env).filter((name) => env[name] && !VARIABLE_NAMES.includes(name));
  const misspellings = VARIABLE_NAMES.flatMap((meant) =>
    foreignNames
      .filter((given) => isMisspelt(given, meant))
      .map((given) => `the variable ${given} has no effect; is it a misspelt ${meant}?`),
  );
  return [...misspellings, ...unreadFileWarnings(env)];
}

/**
 * Finds variables that only `.env` in the working directory sets: docs/decisions.md, "No file .env is read unasked".
 */
function unreadFileWarnings(env: Variables): readonly string[] {
  let fileEnv: Variables = {};
  try {
    if (statSync('.env').isFile()) fileEnv = parseEnv(readFileSync('.env', 'utf8'));
  } catch (error) {
    // The file does not exist, or this user may not read it.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
  const ourNames = [...VARIABLE_NAMES, ...Object.keys(fileEnv).filter((name) => name.startsWith('OTEL_'))];
  const names = ourNames.filter((name) => fileEnv[name] && !env[name]);
  const line = `the file .env sets ${names.join(', ')}, but is not read; add --env .env to read it`;
  return names.length === 0 ? [] : [line];
}

/** @param given differs from `meant` */
function isMisspelt(given: string, meant: string): boolean {
  // The space differs from a letter that `given` adds to `meant`.
  const start = Array.from(`${meant} `).findIndex((letter, at) => given[at] !== letter);
  const [a, b] = [given.slice(start), meant.slice(start)];
  const isSwapped = a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return isSwapped || a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1);
}
