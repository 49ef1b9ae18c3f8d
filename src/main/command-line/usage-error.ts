/** The command line is wrong. The message is one line. It repeats no value, because a value may be a secret. */
export class UsageError extends Error {
  readonly kind = 'usage';

  /** @param command whose help explains it; the general help when absent */
  constructor(problem: string, command = '') {
    super(`${problem}; see npm run petstore -- ${command === '' ? '' : `${command} `}--help`);
    this.name = 'UsageError';
  }
}
