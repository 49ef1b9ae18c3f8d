/** Whether a text is a valid name of a pet. Written from the API contract, independently of the code that it checks. */
export function isName(text: string): boolean {
  const characters = Array.from(text);
  const { length } = characters;
  const hasControl = characters.some((character) => character < ' ' || character === '\x7f');
  return length >= 1 && length <= 255 && text.isWellFormed() && !hasControl && text.trim() !== '';
}
