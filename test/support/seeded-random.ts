/** Random numbers that are computed from a seed (mulberry32). Equal seeds give equal numbers on every machine. */
export class SeededRandom {
  #state = 0;

  /** @param seed one or more integers, which together are the seed */
  constructor(...seed: readonly [number, ...number[]]) {
    // This mixes the seed, because two seeds that differ by 1 would begin with similar numbers.
    for (const part of seed) this.#state = Math.imul(this.#state ^ part ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  }

  /** A number that is at least 0 and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** An integer from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** An integer from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @throws {RangeError} if the list is empty */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('nothing to pick from');
    return list[this.below(list.length)] as T;
  }
}
