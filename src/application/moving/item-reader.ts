/** Reads the items of batches one by one. */
export class ItemReader<T> {
  readonly #batches: AsyncGenerator<readonly T[]>;
  #batch: readonly T[] = [];
  #index = 0;

  constructor(batches: AsyncGenerator<readonly T[]>) {
    this.#batches = batches;
  }

  /** The next item, or `undefined` at the end. Rejects with the errors of the batches. */
  async next(): Promise<T | undefined> {
    while (this.#index === this.#batch.length) {
      const result = await this.#batches.next();
      if (result.done) return undefined;
      this.#batch = result.value;
      this.#index = 0;
    }
    return this.#batch[this.#index++];
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined);
  }
}
