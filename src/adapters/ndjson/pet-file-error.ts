/** A file of pets cannot be read or written. The message is one line that starts with the path and the line number. */
export class PetFileError extends Error {
  readonly kind = 'pet-file';
  readonly fault = 'operator';

  /** @param line from 1, or `undefined` for a problem of the whole file */
  constructor(path: string, line: number | undefined, problem: string) {
    super(line === undefined ? `${path} ${problem}` : `${path}:${line}: ${problem}`);
    this.name = 'PetFileError';
  }
}
