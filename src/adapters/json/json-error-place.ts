/** Counted from 1. A column is a UTF-16 code unit, as in most editors. */
export type Place = { readonly line: number; readonly column: number };

/**
 * Where text stops being JSON.
 *
 * @param error what `JSON.parse` threw. Its message has a position in most cases, but no property of it does
 */
export function jsonErrorPlace(text: string, { message }: SyntaxError): Place {
  const [, position] = /at position (\d+)/.exec(message) ?? [];
  const offset = position === undefined ? firstMisplacedToken(text) : Number(position);
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

const SPACE = /[ \t\n\r]*/y;
const TOKEN = /[[\]{}:,]|"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+/y;
const VALUE = /^(?:[[{"]|-?\d|true|false|null)/;

/** The offset of the first token that stands where a value must be, or the length of the text. */
function firstMisplacedToken(text: string): number {
  // A value is due at the start, as after a colon.
  let before = ':';
  for (let offset = 0; ; ) {
    SPACE.lastIndex = offset;
    SPACE.exec(text);
    const start = SPACE.lastIndex;
    TOKEN.lastIndex = start;
    const token = TOKEN.exec(text)?.[0] ?? '';
    const isValueDue = ['[', ',', ':'].includes(before);
    if (isValueDue && !VALUE.test(token) && !(before === '[' && token === ']')) return start;
    if (token === '') return start;
    before = token;
    offset = start + token.length;
  }
}
