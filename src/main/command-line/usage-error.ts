/** The command line is not one that there is. The message is one line and repeats no value, which may be a secret. */
export class UsageError extends Error {
  readonly kind = 'usage';

  constructor(problem: string, command = '') {
    super(`${problem}; see npm run petstore -- ${command}--help`);
    this.name = 'UsageError';
  }
}
