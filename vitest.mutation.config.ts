import { defineConfig } from 'vitest/config';

/** For Stryker: one project, and each test file in its own process, because a mutant may break what files share. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/mongodb-global-setup.ts'],
    // Not by Stryker's option `testFiles`: with that, 10.1.1 never activates a mutant while a module loads.
    include: process.env['MUTATION_TESTS']?.split(' ') ?? ['test/**/*.test.ts'],
    isolate: false,
    expect: { requireAssertions: true },
    testTimeout: 15_000,
    hookTimeout: 60_000,
  },
});
