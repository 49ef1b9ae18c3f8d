/** A draft breaks the rules of a pet. The message names every broken rule. */
export class InvalidPet extends Error {
  readonly kind = 'invalid-pet';
  readonly fault = 'client';

  /** @param problems phrases such as "name must not be empty" */
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'InvalidPet';
  }
}
