import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsPair } from '../../../src/adapters/http/server/create-limited-server.ts';

/** The files that `make.sh` made. Each certificate is followed by its intermediate one. */
export const PEM_FILES = {
  /** Signed the intermediate certificate. The only one that a client of the tests trusts. */
  root: join(import.meta.dirname, 'root.pem'),
  cert: join(import.meta.dirname, 'cert.pem'),
  key: join(import.meta.dirname, 'key.pem'),
  encryptedKey: join(import.meta.dirname, 'encrypted-key.pem'),
  renewedCert: join(import.meta.dirname, 'renewed-cert.pem'),
  renewedKey: join(import.meta.dirname, 'renewed-key.pem'),
  /** For `key`. Without the intermediate certificate. */
  expiredCert: join(import.meta.dirname, 'expired-cert.pem'),
  /** An authority that has signed nothing but its own certificate, followed by the key. */
  otherAuthority: join(import.meta.dirname, 'other-authority.pem'),
} as const;

const read = (file: string) => readFileSync(file, 'utf8');

export const ROOT_CERT = read(PEM_FILES.root);
export const PAIR: TlsPair = { cert: read(PEM_FILES.cert), key: read(PEM_FILES.key) };
export const RENEWED_PAIR: TlsPair = { cert: read(PEM_FILES.renewedCert), key: read(PEM_FILES.renewedKey) };

/** Whether tests that do not say otherwise speak TLS with the service: see `vitest.config.ts`. */
export const SPEAKS_TLS = process.env['TEST_TLS'] === 'true';
