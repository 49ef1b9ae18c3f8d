export type Point = { readonly x: number; readonly y: number };

/**
 * The Theil-Sen slope: the median of the slopes between any two points. Single outliers do not move it, as a garbage
 * collection or a busy machine causes them. 0 for fewer than two points.
 */
export function slope(points: readonly Point[]): number {
  const slopes: number[] = [];
  for (const [index, from] of points.entries()) {
    for (const to of points.slice(index + 1)) {
      if (to.x !== from.x) slopes.push((to.y - from.y) / (to.x - from.x));
    }
  }
  return median(slopes);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
