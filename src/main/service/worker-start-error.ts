/** A worker process could not start. Has one printable text for each problem. */
export class WorkerStartError extends Error {
  readonly kind = 'worker-start';
  readonly fault = 'operator';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'WorkerStartError';
    this.problems = problems;
  }
}
