import { describe, expect, it } from 'vitest';
import { PET_NAME_PATTERN, petNameProblem } from '../../src/domain/pet.ts';

const TOO_LONG = 'must be at most 255 characters long';
const EMPTY = 'must not be empty';
const BROKEN = 'must be well-formed Unicode, without lone surrogates';
const CONTROL = 'must not contain control characters (U+0000 to U+001F, U+007F)';
const BLANK = 'must contain a character that is not white space';

const DOG = '\u{1F415}';

/** ECMAScript's white space without control characters, with names. */
const SPACES = {
  ' ': 'space',
  '\u00a0': 'no-break space',
  '\u1680': 'ogham space mark',
  '\u2000': 'en quad',
  '\u2001': 'em quad',
  '\u2002': 'en space',
  '\u2003': 'em space',
  '\u2004': 'three-per-em space',
  '\u2005': 'four-per-em space',
  '\u2006': 'six-per-em space',
  '\u2007': 'figure space',
  '\u2008': 'punctuation space',
  '\u2009': 'thin space',
  '\u200a': 'hair space',
  '\u2028': 'line separator',
  '\u2029': 'paragraph separator',
  '\u202f': 'narrow no-break space',
  '\u205f': 'medium mathematical space',
  '\u3000': 'ideographic space',
  '\ufeff': 'byte order mark',
};

const CONTROLS = [...Array.from({ length: 0x20 }, (_, code) => code), 0x7f];

function hex(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

describe('the rules of a name', () => {
  it.each([
    ['one letter', 'a'],
    ['one character outside the basic plane', DOG],
    ['255 letters', 'a'.repeat(255)],
    ['255 characters outside the basic plane, 510 code units', DOG.repeat(255)],
    ['254 letters and one character outside the basic plane', 'a'.repeat(254) + DOG],
    ['255 combining marks', '\u0301'.repeat(255)],
    ['a name with spaces at both ends', '  Rex  '],
    ['a name after every kind of white space', `${Object.keys(SPACES).join('')}Rex`],
    ['a line separator between letters', 'a\u2028b'],
    ['right-to-left text', '\u05db\u05dc\u05d1'],
    ['a family of seven code points', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466}'],
    ['quotes, backslashes and markup', '"\\\'</script><!--'],
    ['the highest code point', '\u{10FFFF}'],
    ['a replacement character', '\uFFFD'],
    ['a blank that is not white space: zero width space', '\u200b'],
    ['a blank that is no longer white space: Mongolian vowel separator', '\u180e'],
    // Only ASCII control characters are forbidden, and ECMAScript's white space does not include U+0085.
    ['a next line character, U+0085', '\u0085'],
    ['the last of the C1 controls, U+009F', 'a\u009f'],
  ])('allow %s', (_what, name) => {
    expect(petNameProblem(name)).toBeUndefined();
  });

  it.each([
    ['the empty string', '', EMPTY],
    ['256 letters', 'a'.repeat(256), TOO_LONG],
    ['256 characters outside the basic plane', DOG.repeat(256), TOO_LONG],
    ['255 letters and one character outside the basic plane', 'a'.repeat(255) + DOG, TOO_LONG],
    ['511 code units', `${DOG.repeat(255)}a`, TOO_LONG],
    ['128 letters, each with a combining mark', 'e\u0301'.repeat(128), TOO_LONG],
    ['256 spaces', ' '.repeat(256), TOO_LONG],
    ['a leading surrogate alone', '\ud83d', BROKEN],
    ['a trailing surrogate alone', '\udc15', BROKEN],
    ['surrogates in the wrong order', 'a\udc15\ud83d', BROKEN],
    ['a leading surrogate at the end', 'Rex\ud83d', BROKEN],
    ['255 spaces', ' '.repeat(255), BLANK],
    ['every kind of white space and nothing else', Object.keys(SPACES).join(''), BLANK],
    ['a tab in front', '\tRex', CONTROL],
    ['a line feed at the end', 'Rex\n', CONTROL],
    ['a line feed alone, which is white space too', '\n', CONTROL],
    ['spaces and a tab', '  \t', CONTROL],
    ['a delete character among emoji', `${DOG}\u007f${DOG}`, CONTROL],
  ])('refuse %s', (_what, name, problem) => {
    expect(petNameProblem(name)).toBe(problem);
  });

  it.each(Object.entries(SPACES).map(([space, name]) => [name, hex(space.charCodeAt(0)), space] as const))(
    'count %s (%s) as white space, which may be part of a name but not all of it',
    (_name, _code, space) => {
      expect([
        petNameProblem(space),
        petNameProblem(`a${space}b`),
        petNameProblem(space + DOG),
      ]).toStrictEqual([BLANK, undefined, undefined]);
    },
  );

  it.each(CONTROLS.map((code) => [hex(code), String.fromCharCode(code)] as const))(
    'refuse the control character %s anywhere',
    (_code, control) => {
      const names = [control, `${control}a`, `a${control}`, `a${control}b`];
      expect(names.map(petNameProblem)).toStrictEqual(names.map(() => CONTROL));
    },
  );

  it('agree with String.prototype.trim on every character of the basic plane', () => {
    const blank: string[] = [];
    for (let code = 0x20; code <= 0xffff; code++) {
      if (petNameProblem(String.fromCharCode(code)) === BLANK) blank.push(String.fromCharCode(code));
    }
    expect(blank).toStrictEqual(Object.keys(SPACES).toSorted());
    expect(blank.filter((character) => character.trim() !== '')).toStrictEqual([]);
  });
});

describe('the published pattern', () => {
  const withoutFlag = new RegExp(PET_NAME_PATTERN);
  const withFlag = new RegExp(PET_NAME_PATTERN, 'u');

  it.each([
    ['Rex', true],
    [DOG, true],
    [' \u3000Rex\u00a0', true],
    ['\u0085', true],
    ['', false],
    [' ', false],
    ['\u2028\ufeff', false],
    ['a\u0000', false],
    ['\u007fa', false],
    ['Rex\n', false],
  ])('means the same with and without the u flag: %j', (name, expected) => {
    expect([withFlag.test(name), withoutFlag.test(name)]).toStrictEqual([expected, expected]);
  });

  // A pattern that backtracks would never finish.
  it.each([
    ['spaces and a control character', `${' '.repeat(200_000)}\u0000`],
    ['letters and a control character', `${'a'.repeat(200_000)}\u0000`],
    ['alternating spaces and letters and a control character', `${' a'.repeat(200_000)}\u0000`],
  ])('takes linear time for %s', (_what, name) => {
    expect([withFlag.test(name), withoutFlag.test(name)]).toStrictEqual([false, false]);
  });
});
