import { VARIABLE_NAMES } from './variables.ts';

type Given = Readonly<Record<string, string | undefined>>;

/**
 * The variables that may be misspelt ones of ours: one letter is added, missing or wrong, or two neighbours are swapped.
 * Values that are empty count as absent.
 *
 * @returns a line for each
 */
export function misspelt(env: Given): readonly string[] {
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
