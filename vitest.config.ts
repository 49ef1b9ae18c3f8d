import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** OpenTelemetry has one tracer provider a process. All other files share processes, which saves starts and imports. */
const ISOLATED = ['test/{adapters,main}/tracing/**/*.test.ts'];

/** They mostly wait for programs. At the end of a run, a core would wait for them. */
const FIRST = ['test/{bin,deploy,guide,operations,package,upgrade}/**/*.test.ts', 'test/readme.test.ts'];

/** What a client does to a connection: over TLS again. */
const OVER_TLS = [
  'test/adapters/http/{server,hardening}/**/*.test.ts',
  'test/adapters/http/unfinished-body.test.ts',
];

/** These cannot differ over TLS. */
const SAME_OVER_TLS = [
  // They have no server, or they say themselves whether it speaks TLS.
  'server/{batched-response,create-limited-server,few-descriptors,tls}',
  'hardening/memory-over-tls',
  // The timers are Node's own. hardening/many-connections.test.ts tries them over TLS.
  'server/timeouts',
  // Whole requests, which the application reads when they are decrypted.
  'hardening/{ambiguous-requests,expensive-requests,header-injection,smuggling}',
].map((files) => `test/adapters/http/${files}.test.ts`);

/** They build an image, start a browser, or elect a primary a few times. */
const LONG = {
  testTimeout: 600_000,
  expect: { poll: { timeout: 120_000 } },
  env: { TEST_WAIT_MS: '120000' },
};

/** `npm test` leaves them out: `npm run test:browser`. */
const IN_A_BROWSER = ['proof/browser/docs-page.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/mongodb-global-setup.ts'],
    setupFiles: ['test/support/shared-state.ts'],
    reporters: ['default', './test/support/skipped-reporter.ts'],
    // Many tests wait for processes and sockets, not for a core.
    maxWorkers: Math.max(4, availableParallelism()),
    coverage: { provider: 'v8', include: ['src/**'] },
    // Projects begin in the order of their names.
    projects: [
      { extends: true, test: { name: 'first', include: FIRST, isolate: false, ...LONG } },
      { extends: true, test: { name: 'isolated', include: ISOLATED, testTimeout: 30_000 } },
      {
        extends: true,
        test: {
          name: 'proofs',
          include: ['proof/**/*.test.ts'],
          exclude: IN_A_BROWSER,
          isolate: false,
          testTimeout: 120_000,
        },
      },
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
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...FIRST, ...ISOLATED],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'browser', include: IN_A_BROWSER, ...LONG } },
    ],
    // A test without an assertion proves nothing.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    // They end what hangs, also on a slow machine.
    testTimeout: 50_000,
    hookTimeout: 600_000,
  },
});
