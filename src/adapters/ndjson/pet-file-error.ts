/** A file of pets cannot be read or written. The message is one line that begins with the file, and the line if it is one. */
export class PetFileError extends Error {
  readonly kind = 'pet-file';
  /** From 1; absent when the file as a whole is meant. */
  readonly line: number | undefined;

  constructor(path: string, line: number | undefined, problem: string) {
    super(line === undefined ? `${path} ${problem}` : `${path}:${line}: ${problem}`);
    this.name = 'PetFileError';
    this.line = line;
  }
}
