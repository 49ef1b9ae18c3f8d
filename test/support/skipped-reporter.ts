import type { Reporter, TestModule } from 'vitest/node';

/** Names every skipped test and the reason that it gave to `context.skip`. A mere count is easily overlooked. */
export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const result = test.result();
        const reason = result.state === 'skipped' && result.note ? ` (${result.note})` : '';
        console.log(`skipped: ${module.relativeModuleId} > ${test.fullName}${reason}`);
      }
    }
  }
}
