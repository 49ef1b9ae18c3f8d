import { SharedSearch } from '../round-trips/shared-search.ts';

/**
 * Remembers whether the schema was sound when the probe last saw it. While it is not, nothing may be stored: MongoDB makes
 * a collection by itself in the place of one that was renamed, and ids would be given twice.
 */
export class SchemaWatch {
  readonly #examine: () => Promise<string | undefined>;
  readonly #again = new SharedSearch(() => this.problem());
  #isSound = true;

  /** @param examine returns what the operator must do */
  constructor(examine: () => Promise<string | undefined>) {
    this.#examine = examine;
  }

  async problem(): Promise<string | undefined> {
    const problem = await this.#examine();
    this.#isSound = problem === undefined;
    return problem;
  }

  /** Before a write. Looks again, once a second at most, after a problem. */
  async problemForWrites(): Promise<string | undefined> {
    return this.#isSound ? undefined : this.#again.result();
  }
}
