const SHARED_MS = 1_000;

/**
 * Calls share a task, which begins at most once per second. A call after that second begins a new task, even if the
 * earlier task has not ended.
 *
 * @param sharesFailures whether all calls in that second share a failure. Otherwise, the call after a failure begins a
 *   new task
 */
export function oncePerSecond<Result>(task: () => Promise<Result>, { sharesFailures = false } = {}) {
  let latest: Promise<Result> | undefined;
  /** By `performance.now()`. */
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
