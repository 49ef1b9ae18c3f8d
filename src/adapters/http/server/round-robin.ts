/** The most iterations in a row without a task, while connections are accepted. libuv accepts one an iteration. */
const MAX_SKIPPED = 16;

/**
 * Runs one task in each iteration of the event loop, in the order in which they were added. All other events are served
 * in between.
 */
export class RoundRobin {
  readonly #tasks = new Set<() => void>();
  #hasNewConnection = false;
  #skipped = 0;

  /** Does nothing if the task is already waiting. */
  add(task: () => void): void {
    if (this.#tasks.size === 0) setImmediate(this.#runNext);
    this.#tasks.add(task);
  }

  /** Skips the task of the next iteration: a connection was accepted, and more may be waiting. */
  onNewConnection(): void {
    this.#hasNewConnection = true;
  }

  readonly #runNext = () => {
    const isSkipped = this.#hasNewConnection && this.#skipped < MAX_SKIPPED;
    this.#hasNewConnection = false;
    this.#skipped = isSkipped ? this.#skipped + 1 : 0;
    const [task] = isSkipped ? [] : this.#tasks;
    if (task !== undefined) this.#tasks.delete(task);
    if (this.#tasks.size > 0) setImmediate(this.#runNext);
    task?.();
  };
}
