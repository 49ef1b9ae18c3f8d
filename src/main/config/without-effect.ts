import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { VARIABLE_NAMES } from './variables.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * @returns a line per variable that may be a misspelt variable of ours (one letter added, missing or wrong, or two
 *   neighbours swapped), and a line about an unread file `.env`
 */
export function unusedVariableWarnings(env: Variables): readonly string[] {
  const foreignNames = Object.keys(env).filter((name) => env[name] && !VARIABLE_NAMES.includes(name));
  const misspellings = VARIABLE_NAMES.flatMap((ourName) =>
    foreignNames
      .filter((typedName) => isMisspelt(typedName, ourName))
      .map((typedName) => `the variable ${typedName} has no effect; is it a misspelt ${ourName}?`),
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

/** @param typedName differs from `ourName` */
function isMisspelt(typedName: string, ourName: string): boolean {
  // The added space differs from a last letter that only `typedName` has.
  const start = Array.from(`${ourName} `).findIndex((letter, at) => typedName[at] !== letter);
  const [typed, ours] = [typedName.slice(start), ourName.slice(start)];
  const isSwapped = typed[0] === ours[1] && typed[1] === ours[0] && typed.slice(2) === ours.slice(2);
  return isSwapped || typed.slice(1) === ours.slice(1) || typed.slice(1) === ours || typed === ours.slice(1);
}
