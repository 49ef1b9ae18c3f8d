/** How many iterations in a row run no task because connections are being accepted. libuv accepts one an iteration. */
const MAX_SKIPPED = 16;

/**
 * Runs one task in each iteration of the event loop, in the order in which they were added. All other events are served
 * in between.
 */
export class RoundRobin {
  readonly #tasks: (() => void)[] = [];
  #hasNewConnection = false;
  #skipped = 0;

  add(task: () => void): void {
    if (this.#tasks.push(task) === 1) setImmediate(this.#runNext);
  }

  /** Lets the next iteration go without a task: a connection was accepted, and more may be waiting. */
  onNewConnection(): void {
    this.#hasNewConnection = true;
  }

  readonly #runNext = () => {
    const isSkipped = this.#hasNewConnection && this.#skipped < MAX_SKIPPED;
    this.#hasNewConnection = false;
    this.#skipped = isSkipped ? this.#skipped + 1 : 0;
    const task = isSkipped ? undefined : this.#tasks.shift();
    if (this.#tasks.length > 0) setImmediate(this.#runNext);
    task?.();
  };
}
