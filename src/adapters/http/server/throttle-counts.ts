/** How often further events are reported, in milliseconds. */
const PERIOD_MS = 10_000;

/**
 * Throttles reports of an event that can happen thousands of times at once. The first one is reported at once; those
 * that follow are added up and reported every ten seconds, until ten seconds pass without any.
 */
export function throttleCounts(report: (count: number) => void): (count: number) => void {
  let isThrottled = false;
  let unreported = 0;
  const reportSum = () => {
    isThrottled = unreported > 0;
    if (!isThrottled) return;
    report(unreported);
    unreported = 0;
    setTimeout(reportSum, PERIOD_MS).unref();
  };
  return (count) => {
    unreported += count;
    if (!isThrottled) reportSum();
  };
}
