import { randomBytes } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { type KeyDigest, sha256 } from '../adapters/memory/token-verifier.ts';
import { type Config, InvalidConfig } from './config.ts';

export type StartKeys = {
  readonly digests: readonly KeyDigest[];
  /** A key that was made for this start, to be shown to whoever started the service and to nobody else. */
  readonly made?: string;
};

/**
 * The keys that the service begins with: those of `API_KEYS`, or a new one when only this machine can reach the
 * service.
 *
 * @throws {InvalidConfig} when others could reach it and it has no keys
 */
export function startKeys({ API_KEYS, HOST }: Pick<Config, 'API_KEYS' | 'HOST'>): StartKeys {
  if (API_KEYS !== undefined) {
    return { digests: API_KEYS.map(({ label, key }) => ({ label, digest: sha256(key) })) };
  }
  if (!isLoopback(HOST)) {
    throw new InvalidConfig([
      `API_KEYS must be set when HOST is not a loopback address, because others can reach ${HOST}`,
    ]);
  }
  const made = randomBytes(24).toString('base64url');
  return { digests: [{ label: 'start', digest: sha256(made) }], made };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
