import { expect, it } from 'vitest';
import { PET_NAME_PATTERN, petNameProblem } from '../../src/domain/pet.ts';

const TOO_LONG = 'must be at most 255 characters long';
const EMPTY = 'must not be empty';
const BROKEN = 'must be well-formed Unicode, without lone surrogates';
const CONTROL = 'must not contain control characters (U+0000 to U+001F, U+007F)';
const BLANK = 'must contain a character that is not white space';

const DOG = '\u{1F415}';

// The properties of a pet test which names are refused. This test adds the reason.
it.each([
  ['the empty string', '', EMPTY],
  ['256 letters', 'a'.repeat(256), TOO_LONG],
  ['256 spaces', ' '.repeat(256), TOO_LONG],
  ['a leading surrogate alone', '\ud83d', BROKEN],
  ['255 spaces', ' '.repeat(255), BLANK],
  ['a line feed alone, which is also white space', '\n', CONTROL],
  ['a delete character among emoji', `${DOG}\u007f${DOG}`, CONTROL],
])('the rules for a name refuse %s', (_what, name, problem) => {
  expect(petNameProblem(name)).toBe(problem);
});

it('the rules for a name cover every control character of ASCII and all white space of ECMAScript', () => {
  const characters = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
  const wellFormed = characters.filter((character) => character.isWellFormed());
  const ruleOf = (character: string) =>
    character <= '\u001f' || character === '\u007f' ? CONTROL : undefined;

  const blankRule = (character: string) => (character.trim() === '' ? BLANK : undefined);
  expect(wellFormed.map((one) => petNameProblem(one))).toStrictEqual(
    wellFormed.map((one) => ruleOf(one) ?? blankRule(one)),
  );
  for (const name of [(one: string) => `a${one}b`, (one: string) => one + DOG]) {
    expect(wellFormed.map((one) => petNameProblem(name(one)))).toStrictEqual(wellFormed.map(ruleOf));
  }
});

// A pattern that backtracks would not finish on these names.
it.each([
  ['spaces and a control character', `${' '.repeat(200_000)}\u0000`],
  ['letters and a control character', `${'a'.repeat(200_000)}\u0000`],
  ['alternating spaces and letters and a control character', `${' a'.repeat(200_000)}\u0000`],
])('the published pattern takes linear time for %s', (_what, name) => {
  for (const flag of ['u', '']) expect(new RegExp(PET_NAME_PATTERN, flag).test(name)).toBe(false);
});
