import { CountsDiffer } from './errors.ts';

/**
 * Pets are added to a source while it is read, also between those that were read already, but none is ever removed.
 *
 * @param counts of pets in the source: at the start, as read, and at the end
 * @throws {CountsDiffer} when one is smaller than the one before
 */
export function checkSource(counts: readonly [before: number, read: number, after: number]): void {
  const [before, read, after] = counts;
  if (read < before) throw new CountsDiffer('source', { expected: before, found: read });
  if (after < read) throw new CountsDiffer('source', { expected: read, found: after });
}
