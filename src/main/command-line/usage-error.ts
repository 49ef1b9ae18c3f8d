/** The command line is wrong. The message is one line. It repeats no value, because a value may be a secret. */
export class UsageError extends Error {
  readonly kind = 'usage';
  readonly fault = 'client';

  constructor(problem: string) {
    super(problem);
    this.name = 'UsageError';
  }
}
