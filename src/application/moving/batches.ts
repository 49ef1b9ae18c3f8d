/** How many pets are read, and written, at once. More make nothing faster. */
export const BATCH_SIZE = 1000;

/** Begins to get the next item while the consumer is busy with this one: one ahead, never more. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  const get = () => {
    const next = iterator.next();
    // Whoever waits for it hears of a failure; until then it is not one that nobody handles.
    next.catch(() => {});
    return next;
  };
  try {
    for (let next = get(); ; ) {
      const got = await next;
      if (got.done) return;
      next = get();
      yield got.value;
    }
  } finally {
    await iterator.return?.();
  }
}

/** The items of the batches one by one. */
export class ItemReader<T> {
  readonly #batches: AsyncIterator<readonly T[]>;
  #batch: readonly T[] = [];
  #index = 0;

  constructor(batches: AsyncIterable<readonly T[]>) {
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /** The item after the one of the last call, `undefined` at the end. */
  async next(): Promise<T | undefined> {
    while (this.#index === this.#batch.length) {
      const got = await this.#batches.next();
      if (got.done) return undefined;
      this.#batch = got.value;
      this.#index = 0;
    }
    return this.#batch[this.#index++];
  }

  async close(): Promise<void> {
    await this.#batches.return?.();
  }
}
