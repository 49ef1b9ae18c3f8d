/** Whether a text is the name of a pet, read from the contract and not from the code. */
export function isName(text: string): boolean {
  const characters = Array.from(text);
  const { length } = characters;
  const hasControl = characters.some((each) => each < ' ' || each === '\x7f');
  return length >= 1 && length <= 255 && text.isWellFormed() && !hasControl && text.trim() !== '';
}
