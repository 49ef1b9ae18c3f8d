/** Both count from 1. A column counts UTF-16 code units, as in most editors. */
export type Position = { readonly line: number; readonly column: number };

/** @param error an error of `JSON.parse`. Some messages have the offset */
export function jsonErrorPosition(text: string, { message }: SyntaxError): Position {
  const [, reported] = /at position (\d+)/.exec(message) ?? [];
  const offset = reported === undefined ? firstMisplacedToken(text) : Number(reported);
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}

const SPACE = /[ \t\n\r]*/y;
const TOKEN = /[[\]{}:,]|"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+/y;
const VALUE = /^(?:[[{"]|-?\d|true|false|null)/;

/** Returns the offset of the first token in the place of a missing value, or else the end of the tokens. */
function firstMisplacedToken(text: string): number {
  // The text must begin with a value, as if a colon came before.
  let previous = ':';
  for (let offset = 0; ; ) {
    SPACE.lastIndex = offset;
    SPACE.exec(text);
    const start = SPACE.lastIndex;
    TOKEN.lastIndex = start;
    const token = TOKEN.exec(text)?.[0] ?? '';
    const isValueDue = ['[', ',', ':'].includes(previous);
    if (isValueDue && !VALUE.test(token) && !(previous === '[' && token === ']')) return start;
    if (token === '') return start;
    previous = token;
    offset = start + token.length;
  }
}
