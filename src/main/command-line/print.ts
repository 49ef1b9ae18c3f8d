/** Standard output cannot be written. */
export class OutputError extends Error {
  readonly kind = 'output';

  constructor(cause: Error) {
    super(`standard output cannot be written: ${cause.message}`, { cause });
    this.name = 'OutputError';
  }
}

/**
 * Writes all of the text to standard output. Waits for a reader that is slow.
 *
 * @throws {OutputError}
 */
export async function print(text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(text, (error) => {
    if (error == null) resolve();
    else reject(new OutputError(error));
  });
  await promise;
}
