import { expect, test } from 'vitest';
import { createLimitedServer } from '../../../../src/adapters/http/server/create-limited-server.ts';
import type { ServerLimits } from '../../../../src/adapters/http/server/limits.ts';
import { PAIR } from '../../../support/tls/pem-files.ts';

const LIMITS: ServerLimits = {
  handshakeTimeoutMs: 1_001,
  headersTimeoutMs: 1_002,
  requestTimeoutMs: 1_003,
  keepAliveTimeoutMs: 1_004,
  idleTimeoutMs: 1_005,
  maxHeadersBytes: 1_006,
  maxConnections: 1_007,
  maxHeldBytes: 1_008,
};

test.each([
  ['plain', undefined],
  ['TLS', PAIR],
])('Node gets every limit that it can keep: %s', async (_, tls) => {
  expect(await createLimitedServer(LIMITS, tls)).toMatchObject({
    headersTimeout: 1_002,
    requestTimeout: 1_003,
    keepAliveTimeout: 1_004,
    timeout: 1_005,
    maxHeaderSize: 1_006,
    maxConnections: 1_007,
    maxHeadersCount: 0,
    insecureHTTPParser: false,
    requireHostHeader: false,
    httpAllowHalfOpen: true,
  });
});
