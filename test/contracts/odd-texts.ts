/** Texts that a storage could change, for example when it trims or normalizes a text or reads it as a number. */
export const ODD_TEXTS = [
  'Ren\u00e9',
  // The same letter as two code points: `e` and a combining accent.
  'Rene\u0301',
  // The ligature of f and i, which Unicode's compatibility normalization would replace.
  '\ufb01do',
  // An emoji made of several code points.
  '\u{1f469}\u{1f3fd}\u200d\u{1f4bb}\ufe0f',
  // The greatest code point of Unicode.
  'x\u{10ffff}',
  // Two code points that Unicode reserves as noncharacters, and the replacement character.
  '\ufffe\uffff\ufffd',
  // A byte order mark.
  '\ufeffRex',
  // Hebrew, which is written from right to left, with and without direction marks.
  '\u202e\u05db\u05dc\u05d1\u202c',
  '\u05db\u05dc\u05d1',
  // White space at both ends of a text, and two spaces between letters.
  '  Rex\u00a0\u2028',
  'a  b',
  // C1 control characters.
  'a\u0080\u009fb',
  '$where.{"$gt":""}\'; DROP TABLE pets; --',
  '__proto__',
  '007',
] as const;
