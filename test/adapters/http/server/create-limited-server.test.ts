import { expect, test } from 'vitest';
import { createLimitedServer } from '../../../../src/adapters/http/server/create-limited-server.ts';
import { SERVER_LIMITS } from '../../../../src/adapters/http/server/limits.ts';
import { PAIR } from '../../../support/tls/pem-files.ts';

/** All limits differ, so a test fails if the server exchanges two of them. */
const LIMITS = { ...SERVER_LIMITS, headersTimeoutMs: 9_999, handshakeTimeoutMs: 9_998 };

test.each([
  ['without TLS', undefined],
  ['with TLS', PAIR],
])('a server %s sets every limit that Node can enforce', async (_, tls) => {
  expect(await createLimitedServer(LIMITS, tls)).toMatchObject({
    headersTimeout: 9_999,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    timeout: 40_000,
    maxHeaderSize: 16_384,
    maxConnections: 10_000,
    maxHeadersCount: 0,
    insecureHTTPParser: false,
    requireHostHeader: false,
  });
});
