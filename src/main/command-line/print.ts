import { writeFileSync } from 'node:fs';

/** Standard output cannot be written. */
export class OutputError extends Error {
  readonly kind = 'output';

  constructor(cause: Error) {
    super(`standard output cannot be written: ${cause.message}`, { cause });
    this.name = 'OutputError';
  }
}

/**
 * Writes all of the text to standard output, at once.
 *
 * @throws {OutputError}
 */
export function print(text: string): void {
  try {
    writeFileSync(1, text);
  } catch (error) {
    throw error instanceof Error ? new OutputError(error) : error;
  }
}
