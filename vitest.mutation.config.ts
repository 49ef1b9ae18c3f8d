import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Not Stryker's option `testFiles`: with that, 10.1.1 never activates a mutant while a module is loading.
const tests = process.env['MUTATION_TESTS']?.split(' ') ?? ['test/**/*.test.ts'];

const durations = new Map<string, number>();

/** A run ends with the first test that fails. vitest would begin with the longest file. */
class QuickestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const before = (file: TestSpecification) => this.ctx.cache.getTestSpecificationResult(file);
    // Of the first run: later ones leave tests out.
    for (const file of files) {
      const { duration } = before(file) ?? {};
      if (duration !== undefined && !durations.has(file.moduleId)) durations.set(file.moduleId, duration);
    }
    const rank = (file: TestSpecification) =>
      before(file)?.failed === true ? -1 : (durations.get(file.moduleId) ?? 0);
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** For Stryker, which runs the tests one after the other in one process. */
export default defineConfig({
  test: {
    globalSetup: tests.some((glob) => glob.includes('mongodb'))
      ? ['test/support/mongodb-global-setup.ts']
      : [],
    include: tests,
    isolate: false,
    sequence: { sequencer: QuickestFirst },
    // A mutant that hangs is dead after 20 seconds.
    expect: { requireAssertions: true, poll: { timeout: 15_000 } },
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
