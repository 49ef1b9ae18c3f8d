import { SeededRandom } from '../../test/support/seeded-random.ts';

/** The choice number `at` of a schedule takes alternative `choice` instead of the default, 0. */
export type Deviation = { readonly at: number; readonly choice: number };

/**
 * Makes the choices of a schedule that are listed, and the default in every other place. Counts the alternatives of each
 * choice, so that a search can try the others. A number from a list is no choice: a code is the first one.
 */
export class ChosenRandom extends SeededRandom {
  /** How many alternatives each choice had. */
  readonly alternatives: number[] = [];
  readonly #deviations: ReadonlyMap<number, number>;

  constructor(deviations: readonly Deviation[]) {
    super(0);
    this.#deviations = new Map(deviations.map(({ at, choice }) => [at, choice]));
  }

  override next(): number {
    return 0;
  }

  /** Nothing takes time, so everything that is pending may run next. */
  override between(): number {
    return 0;
  }

  override below(count: number): number {
    const at = this.alternatives.push(count) - 1;
    return this.#deviations.get(at) ?? 0;
  }

  override chance(probability: number): boolean {
    return probability > 0 && this.below(2) === 1;
  }

  override pick<T>(list: readonly T[]): T {
    return typeof list[0] === 'number' || list.length === 1 ? (list[0] as T) : super.pick(list);
  }
}
