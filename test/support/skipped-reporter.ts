import type { Reporter, TestModule } from 'vitest/node';

/** Says at the end of a run why tests were skipped, and what to install. A mere count is easily overlooked. */
export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const reasons = modules
      .flatMap(({ children }) => [...children.allTests('skipped')])
      .map((test) => {
        const result = test.result();
        return reasonFor(test.fullName, result.state === 'skipped' ? result.note : undefined);
      });
    if (reasons.length > 0) console.log(`\nSkipped tests:\n${countsOf(reasons)}`);
  }
}

/** @param note what the test gave to `context.skip`; a suite has its reason in its title, and a storage its excuse */
export function reasonFor(title: string, note: string | undefined): string {
  const inTitle = /\(left out: ([^)]+)\)/.exec(title)?.[1];
  const [, storage, excuse] = /^[^:]+: (.+?) > .*\(skipped: ([^)]+)\)/.exec(title) ?? [];
  return note ?? inTitle ?? (excuse === undefined ? 'not asked for' : `${storage} cannot: ${excuse}`);
}

/** A line for each reason, the most frequent one first. */
export function countsOf(reasons: readonly string[]): string {
  return [...Map.groupBy(reasons, (reason) => reason)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([reason, { length }]) => `${`${length}`.padStart(6)}  ${reason}\n`)
    .join('');
}
