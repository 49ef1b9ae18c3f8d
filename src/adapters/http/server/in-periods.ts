/** How often more of the same is reported, in milliseconds. */
const PERIOD = 10_000;

/**
 * For what can happen thousands of times at once: the first of it is reported at once, and what follows is summed up
 * every ten seconds, until ten seconds pass without any.
 */
export function inPeriods(report: (count: number) => void): (count: number) => void {
  let isReported = false;
  let unreported = 0;
  const sumUp = () => {
    isReported = unreported > 0;
    if (!isReported) return;
    report(unreported);
    unreported = 0;
    setTimeout(sumUp, PERIOD).unref();
  };
  return (count) => {
    unreported += count;
    if (!isReported) sumUp();
  };
}
