/** One rule that a value breaks. */
export type Problem = {
  readonly field: string;
  /** The offending value. */
  readonly value: unknown;
  /** What is allowed, as the rest of a sentence that begins with the field: "must be …". */
  readonly problem: string;
};
