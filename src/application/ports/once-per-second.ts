const SHARED_MS = 1_000;

/**
 * All calls within a second share one run of the task. A later call begins a new run, even while the earlier run
 * continues.
 *
 * @param sharesFailures whether calls within a second share a failure. If not, a call after a failure begins a new run
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
