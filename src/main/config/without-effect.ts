import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { VARIABLE_NAMES } from './variables.ts';

type Given = Readonly<Record<string, string | undefined>>;

/**
 * The variables that were set in vain. Values that are empty count as absent.
 *
 * @returns a line for each that may be a misspelt one of ours: one letter is added, missing or wrong, or two neighbours
 *   are swapped; and a line for those of the file `.env`
 */
export function withoutEffect(env: Given): readonly string[] {
  const foreign = Object.keys(env).filter((name) => env[name] && !VARIABLE_NAMES.includes(name));
  const misspelt = VARIABLE_NAMES.flatMap((meant) =>
    foreign
      .filter((given) => isMisspelt(given, meant))
      .map((given) => `the variable ${given} has no effect; is it a misspelt ${meant}?`),
  );
  return [...misspelt, ...unreadFile(env)];
}

/**
 * The variables of the service that only the file `.env` of the working directory sets. Many programs read that file
 * unasked. A named pipe is not opened: its reader waits, and a password manager behind it may ask the user.
 *
 * @returns a line, if there are any
 */
function unreadFile(env: Given): readonly string[] {
  let given: Given = {};
  try {
    if (statSync('.env').isFile()) given = parseEnv(readFileSync('.env', 'utf8'));
  } catch (error) {
    // There is no such file, or the user of this program may not read it.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
  const ours = [...VARIABLE_NAMES, ...Object.keys(given).filter((name) => name.startsWith('OTEL_'))];
  const names = ours.filter((name) => given[name] && !env[name]);
  const line = `the file .env sets ${names.join(', ')}, but is not read; add --env .env to read it`;
  return names.length === 0 ? [] : [line];
}

/** @param given another text than `meant` */
function isMisspelt(given: string, meant: string): boolean {
  // The space differs from a letter that follows the whole name.
  const start = Array.from(`${meant} `).findIndex((letter, at) => given[at] !== letter);
  const [a, b] = [given.slice(start), meant.slice(start)];
  const isSwapped = a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return isSwapped || a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1);
}
