/** Lengths of a pet's name, in Unicode code points. */
export const PET_NAME_MIN_LENGTH = 1;
export const PET_NAME_MAX_LENGTH = 255;

const CONTROL = '\\u0000-\\u001f\\u007f';
// ECMAScript's white space without the control characters. Spelled out because `\s` is a different set in every
// dialect of regular expressions.
const SPACE = ' \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff';

/**
 * Matches a name that has no control character and at least one character that is not white space. Means the same in
 * ECMA-262 with and without the `u` flag. Runs in linear time: no two adjacent repeats match the same character.
 */
export const PET_NAME_PATTERN = `^[${SPACE}]*[^${SPACE}${CONTROL}][^${CONTROL}]*$`;

const pattern = new RegExp(PET_NAME_PATTERN);
const control = new RegExp(`[${CONTROL}]`);

/** The rule that a name breaks, as a phrase that follows the word "name", or `undefined`. */
export function petNameProblem(name: string): string | undefined {
  // No text has more code points than code units, so a short name needs no counting.
  if (name.length > PET_NAME_MAX_LENGTH && Array.from(name).length > PET_NAME_MAX_LENGTH) {
    return `must be at most ${PET_NAME_MAX_LENGTH} characters long`;
  }
  if (name.length < PET_NAME_MIN_LENGTH) return 'must not be empty';
  if (!name.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (pattern.test(name)) return undefined;
  if (control.test(name)) return 'must not contain control characters (U+0000 to U+001F, U+007F)';
  return 'must contain a character that is not white space';
}
