/** A source of numbers that a seed determines. Mulberry32, which is more than good enough to choose requests. */
export class Random {
  #state: number;

  /** @param seed any integer */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to just below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** Whether something with this probability happens. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of the values, `undefined` if there are none. */
  of<T>(values: readonly [T, ...T[]]): T;
  of<T>(values: readonly T[]): T | undefined;
  of<T>(values: readonly T[]): T | undefined {
    return values[this.below(values.length)];
  }

  /** In a random order. */
  shuffled<T>(values: readonly T[]): readonly T[] {
    return values
      .map((value) => ({ value, place: this.next() }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ value }) => value);
  }
}
