import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { VARIABLE_NAMES } from './variables.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * @returns a line per variable that may be a misspelt variable of ours (one letter added, missing or wrong, or two
 *   neighbours swapped), and a line for the file `.env`
 */
export function withoutEffect(env: Variables): readonly string[] {
  const foreign = Object.keys(env).filter((name) => env[name] && !VARIABLE_NAMES.includes(name));
  const misspelt = VARIABLE_NAMES.flatMap((meant) =>
    foreign
      .filter((given) => isMisspelt(given, meant))
      .map((given) => `the variable ${given} has no effect; is it a misspelt ${meant}?`),
  );
  return [...misspelt, ...unreadFile(env)];
}

/**
 * Finds variables that only `.env` in the working directory sets: docs/decisions.md, "No file .env is read unasked".
 */
function unreadFile(env: Variables): readonly string[] {
  let given: Variables = {};
  try {
    if (statSync('.env').isFile()) given = parseEnv(readFileSync('.env', 'utf8'));
  } catch (error) {
    // The file does not exist, or this user may not read it.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
  const ours = [...VARIABLE_NAMES, ...Object.keys(given).filter((name) => name.startsWith('OTEL_'))];
  const names = ours.filter((name) => given[name] && !env[name]);
  const line = `the file .env sets ${names.join(', ')}, but is not read; add --env .env to read it`;
  return names.length === 0 ? [] : [line];
}

/** @param given differs from `meant` */
function isMisspelt(given: string, meant: string): boolean {
  // The space differs from any letter that follows the whole name.
  const start = Array.from(`${meant} `).findIndex((letter, at) => given[at] !== letter);
  const [a, b] = [given.slice(start), meant.slice(start)];
  const isSwapped = a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return isSwapped || a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1);
}
