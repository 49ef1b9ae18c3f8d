import { CountsDiffer } from './errors.ts';

type Counts = { readonly before: number; readonly read: number; readonly after: number };

/**
 * Compares the numbers of pets in a source before, during and after a run. Pets can be added to a source at any time, and
 * anywhere below its greatest id, but never removed. So no number may be smaller than the one before it.
 *
 * @throws {CountsDiffer}
 */
export function checkSourceCounts({ before, read, after }: Counts): void {
  if (read < before) throw new CountsDiffer('source', { expected: before, found: read });
  if (after < read) throw new CountsDiffer('source', { expected: read, found: after });
}
