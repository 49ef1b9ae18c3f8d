import type { Problem } from './problem.ts';

/** A draft breaks the rules of a pet. Carries every problem, not only the first. */
export class InvalidPet extends Error {
  readonly kind = 'invalid-pet';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ field, problem }) => `${field} ${problem}`).join('; '));
    this.name = 'InvalidPet';
    this.problems = problems;
  }
}
