/** How long a result is used. */
const KEPT_MS = 1_000;

/**
 * Makes a search that calls share. The next one begins a second after it began at the earliest. A search that never
 * returns does not delay the calls after that second.
 */
export function sharedSearch<Result>(search: () => Promise<Result>) {
  let latest: Promise<Result> | undefined;
  /** On the clock of `performance.now()`. */
  let keptUntilMs = 0;

  /** The next call begins another search. */
  const forget = () => void (latest = undefined);

  /** Rejects as the search does. The next call then begins another. */
  const result = (): Promise<Result> => {
    const nowMs = performance.now();
    if (latest === undefined || nowMs >= keptUntilMs) {
      keptUntilMs = nowMs + KEPT_MS;
      latest = search();
      latest.catch(forget);
    }
    return latest;
  };

  return { result, forget };
}
