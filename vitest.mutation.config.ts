import { defineConfig } from 'vitest/config';

// Not Stryker's option `testFiles`: with that, 10.1.1 never activates a mutant while a module is loading.
const tests = process.env['MUTATION_TESTS']?.split(' ') ?? ['test/**/*.test.ts'];

/** For Stryker, which runs the tests one after the other in one process. */
export default defineConfig({
  test: {
    globalSetup: tests.some((glob) => glob.includes('mongodb'))
      ? ['test/support/mongodb-global-setup.ts']
      : [],
    include: tests,
    isolate: false,
    // A mutant that hangs is dead after a minute.
    expect: { requireAssertions: true, poll: { timeout: 50_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
