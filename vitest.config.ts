import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/mongodb-global-setup.ts'],
    reporters: ['default', './test/support/skipped-reporter.ts'],
    // A test that compares nothing passes whatever the code does.
    expect: { requireAssertions: true },
    // Most tests wait for processes and sockets, and hardly for a core.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: 15_000,
    // Long enough to start a server in.
    hookTimeout: 60_000,
    coverage: { provider: 'v8', include: ['src/**'] },
  },
});
