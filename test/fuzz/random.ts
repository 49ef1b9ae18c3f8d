/** Random numbers from a seed (splitmix32). The same seed gives the same numbers on every machine. */
export class Random {
  #state: number;

  /** @param parts each an integer; together they are the seed */
  constructor(...parts: readonly number[]) {
    this.#state = 0x9e37_79b9;
    for (const part of parts) this.#state = (this.#next() ^ part) | 0;
  }

  /** An integer from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor((this.#next() / 2 ** 32) * count);
  }

  /** True in this share of the calls, from 0 to 1. */
  chance(share: number): boolean {
    return this.#next() / 2 ** 32 < share;
  }

  /** @throws {Error} if there is nothing to pick from */
  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  #next(): number {
    this.#state = (this.#state + 0x9e37_79b9) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0_aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
}
