import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsPair } from '../../../src/adapters/http/server/create-limited-server.ts';

/** The files that `make.sh` made. In a file, the intermediate certificate follows the certificate that it signed. */
export const PEM_FILES = {
  /** The certificate that signed the intermediate certificate. Clients of the tests trust only this certificate. */
  root: join(import.meta.dirname, 'root.pem'),
  cert: join(import.meta.dirname, 'cert.pem'),
  key: join(import.meta.dirname, 'key.pem'),
  encryptedKey: join(import.meta.dirname, 'encrypted-key.pem'),
  renewedCert: join(import.meta.dirname, 'renewed-cert.pem'),
  renewedKey: join(import.meta.dirname, 'renewed-key.pem'),
  /** An expired certificate for `key`. The intermediate certificate is not in this file. */
  expiredCert: join(import.meta.dirname, 'expired-cert.pem'),
  /** The certificate of an authority that signed only its own certificate, followed by its key. */
  otherAuthority: join(import.meta.dirname, 'other-authority.pem'),
} as const;

const read = (file: string) => readFileSync(file, 'utf8');

export const ROOT_CERT = read(PEM_FILES.root);
export const PAIR: TlsPair = { cert: read(PEM_FILES.cert), key: read(PEM_FILES.key) };
export const RENEWED_PAIR: TlsPair = { cert: read(PEM_FILES.renewedCert), key: read(PEM_FILES.renewedKey) };

/** Whether tests speak TLS with the service by default: see `vitest.config.ts`. */
export const SPEAKS_TLS = process.env['TEST_TLS'] === 'true';
