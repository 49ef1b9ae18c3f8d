const SHARED_MS = 1_000;

/**
 * Makes a task that calls share: it begins at most once per second, however many calls there are. A task that has not
 * ended after a second does not delay later calls.
 *
 * @param sharesFailures whether calls share a failure for the rest of the second. Otherwise, the next call begins the task
 *   again
 */
export function oncePerSecond<Result>(task: () => Promise<Result>, { sharesFailures = false } = {}) {
  let latest: Promise<Result> | undefined;
  /** On the clock of `performance.now()`. */
  let sharedUntilMs = 0;

  return (): Promise<Result> => {
    const nowMs = performance.now();
    if (latest === undefined || nowMs >= sharedUntilMs) {
      sharedUntilMs = nowMs + SHARED_MS;
      latest = task();
      if (!sharesFailures) latest.catch(() => (latest = undefined));
    }
    return latest;
  };
}
