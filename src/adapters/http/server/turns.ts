/** How many turns in a row are left to new connections. The event loop takes one of them in each turn. */
const NEWCOMERS_FIRST = 16;

/**
 * Lets connections that have much to do take turns: one of them goes on in each turn of the event loop. All other
 * events are served in between.
 */
export class Turns {
  readonly #queue: (() => void)[] = [];
  #newcomer = false;
  #leftOut = 0;

  add(goOn: () => void): void {
    if (this.#queue.push(goOn) === 1) setImmediate(this.#next);
  }

  /** A connection has come, and more may be behind it. */
  giveWay(): void {
    this.#newcomer = true;
  }

  readonly #next = () => {
    const isLeftOut = this.#newcomer && this.#leftOut < NEWCOMERS_FIRST;
    this.#newcomer = false;
    this.#leftOut = isLeftOut ? this.#leftOut + 1 : 0;
    const goOn = isLeftOut ? undefined : this.#queue.shift();
    if (this.#queue.length > 0) setImmediate(this.#next);
    goOn?.();
  };
}
