import type { Reporter, TestModule } from 'vitest/node';

/** Prints at the end of a run why tests were skipped, and what to install. The count of vitest is easily overlooked. */
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

/**
 * Returns why a test was skipped. The reason is `note` or is in the title.
 *
 * @param note the argument with which the test called `context.skip`
 */
export function reasonFor(title: string, note: string | undefined): string {
  const inTitle = /\(left out: ([^)]+)\)/.exec(title)?.[1];
  const [, storage, reason] = /^[^:]+: (.+?) > .*\(skipped: ([^)]+)\)/.exec(title) ?? [];
  return note ?? inTitle ?? (reason === undefined ? 'not asked for' : `${storage} cannot: ${reason}`);
}

/** Returns a line for each reason, with the number of its tests. The most frequent reason comes first. */
export function countsOf(reasons: readonly string[]): string {
  return [...Map.groupBy(reasons, (reason) => reason)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([reason, { length }]) => `${`${length}`.padStart(6)}  ${reason}\n`)
    .join('');
}
