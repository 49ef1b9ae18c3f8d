import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Files whose tests leave no state in their process. They share processes, which saves starts and imports. */
const TOGETHER = [
  'domain',
  'application',
  'adapters/{files,http,json,memory,metrics,mongodb,ndjson,round-trips,sqlite,tokens}',
  'main/{command-line,config,log,service}',
  'contracts',
  'damage',
  'failure',
  'fuzz',
  'soak',
  'support',
].map((folder) => `test/${folder}/**/*.test.ts`);

/** What a client does to a connection: over TLS again. */
const OVER_TLS = [
  'test/adapters/http/{server,hardening}/**/*.test.ts',
  'test/adapters/http/unfinished-body.test.ts',
];

/** These cannot differ over TLS. */
const SAME_OVER_TLS = [
  // They have no server, or they say themselves whether it speaks TLS.
  'server/{connection,connections,create-limited-server,handshakes,listen}',
  'server/{throttle-counts,tls,watch-descriptors}',
  'hardening/tls-memory',
  // Whole requests, which the application reads when they are decrypted.
  'hardening/{compression-bombs,header-injection}',
].map((files) => `test/adapters/http/${files}.test.ts`);

export default defineConfig({
  test: {
    globalSetup: ['test/support/mongodb-global-setup.ts'],
    setupFiles: ['test/support/shared-state.ts'],
    reporters: ['default', './test/support/skipped-reporter.ts'],
    // Many tests wait for processes and sockets, not for a core.
    maxWorkers: Math.max(3, availableParallelism()),
    coverage: { provider: 'v8', include: ['src/**'] },
    // vitest begins them in the order of their names. The many short files come last: no core waits for a long one.
    projects: [
      { extends: true, test: { name: 'isolated', include: ['test/**/*.test.ts'], exclude: TOGETHER } },
      {
        extends: true,
        test: {
          name: 'tls',
          include: OVER_TLS,
          exclude: SAME_OVER_TLS,
          isolate: false,
          env: { TEST_TLS: 'true' },
        },
      },
      { extends: true, test: { name: 'together', include: TOGETHER, isolate: false } },
    ],
    // A test without an assertion proves nothing.
    expect: { requireAssertions: true, poll: { timeout: 120_000 } },
    // They end what hangs, on the slowest machine. No test has a limit of its own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
