import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { VARIABLE_NAMES } from './variables.ts';

type Given = Readonly<Record<string, string | undefined>>;

/** A line for each variable that somebody has set in vain. */
export function withoutEffect(env: Given): readonly string[] {
  return [...misspelt(env), ...unreadFile(env)];
}

/**
 * The variables of ours that only the file `.env` of the working directory sets, where many programs read them without
 * being asked. No other kind of file is opened: a reader of a named pipe waits, and a password manager may ask then.
 *
 * @returns a line, if there are any
 */
function unreadFile(env: Given): readonly string[] {
  let given: Given;
  try {
    if (!statSync('.env').isFile()) return [];
    given = parseEnv(readFileSync('.env', 'utf8'));
  } catch (error) {
    // A file that this program may not read is not for it.
    if (error instanceof Error && 'code' in error) return [];
    throw error;
  }
  const names = Object.keys(given)
    .filter((name) => VARIABLE_NAMES.includes(name) || name.startsWith('OTEL_'))
    .filter((name) => given[name] && !env[name]);
  const line = `the file .env sets ${names.join(', ')}, but is not read; add --env .env to read it`;
  return names.length === 0 ? [] : [line];
}

/**
 * The variables that may be misspelt ones of ours: one letter is added, missing or wrong, or two neighbours are swapped.
 * Values that are empty count as absent.
 *
 * @returns a line for each
 */
function misspelt(env: Given): readonly string[] {
  const foreign = Object.keys(env).filter((name) => env[name] && !VARIABLE_NAMES.includes(name));
  return VARIABLE_NAMES.flatMap((meant) =>
    foreign
      .filter((given) => isMisspelt(given, meant))
      .map((given) => `the variable ${given} has no effect; is it a misspelt ${meant}?`),
  );
}

/** @param given another text than `meant` */
function isMisspelt(given: string, meant: string): boolean {
  // The space differs from a letter that follows the whole name.
  const start = Array.from(`${meant} `).findIndex((letter, at) => given[at] !== letter);
  const [a, b] = [given.slice(start), meant.slice(start)];
  const isSwapped = a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return isSwapped || a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1);
}
