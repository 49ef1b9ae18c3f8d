/** The numbers from 0 to `count - 1`. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
