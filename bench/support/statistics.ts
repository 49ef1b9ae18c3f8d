/** @param q from 0 (least) to 1 (most) */
export function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.round((values.length - 1) * q)] ?? NaN;
}

/** The median and, in brackets, the least and the most, or other quantiles. */
export function summary(values: readonly number[], digits: number, [low, high] = [0, 1]): string {
  const at = (q: number) => quantile(values, q).toFixed(digits);
  return `${at(0.5)} (${at(low)} to ${at(high)})`;
}
