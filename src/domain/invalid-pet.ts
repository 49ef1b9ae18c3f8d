export type Problem = {
  readonly field: string;
  /** The offending value. */
  readonly value: unknown;
  /** What is allowed, as the rest of a sentence that begins with the field: "must be …". */
  readonly problem: string;
};

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
