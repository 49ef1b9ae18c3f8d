import { CountsDiffer } from './errors.ts';

type Counts = { readonly before: number; readonly read: number; readonly after: number };

/**
 * Compares the numbers of pets in a source before, during and after a run. Services can add pets to a source during a
 * run but never remove them, so the numbers never decrease.
 *
 * @throws {CountsDiffer}
 */
export function checkSourceCounts({ before, read, after }: Counts): void {
  if (read < before) throw new CountsDiffer('source', { expected: before, found: read });
  if (after < read) throw new CountsDiffer('source', { expected: read, found: after });
}
