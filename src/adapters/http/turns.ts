/**
 * Lets those that have much to do take turns: one of them goes on in a turn of the event loop, so that whatever else has
 * happened is served in between.
 */
export class Turns {
  readonly #queue: (() => void)[] = [];

  add(goOn: () => void): void {
    if (this.#queue.push(goOn) === 1) setImmediate(this.#next);
  }

  readonly #next = () => {
    const goOn = this.#queue.shift();
    if (this.#queue.length > 0) setImmediate(this.#next);
    goOn?.();
  };
}
