/** How long a result is used. */
const KEPT_MS = 1_000;

/**
 * A search that calls share. The next one begins a second after it began at the earliest. A search that never returns
 * does not delay the calls after that second.
 */
export class SharedSearch<Result> {
  readonly #search: () => Promise<Result>;
  #result: Promise<Result> | undefined;
  /** On the clock of `performance.now()`. */
  #keptUntilMs = 0;

  constructor(search: () => Promise<Result>) {
    this.#search = search;
  }

  /** Rejects as the search does. The next call then begins another. */
  result(): Promise<Result> {
    const nowMs = performance.now();
    if (this.#result === undefined || nowMs >= this.#keptUntilMs) {
      this.#keptUntilMs = nowMs + KEPT_MS;
      this.#result = this.#search();
      this.#result.catch(() => this.forget());
    }
    return this.#result;
  }

  /** The next call begins another search. */
  forget(): void {
    this.#result = undefined;
  }
}
