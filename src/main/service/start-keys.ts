import { isIPv4 } from 'node:net';
import { type KnownKey, knownKey } from '../../adapters/memory/token-verifier.ts';
import { mintKey } from '../../adapters/tokens/token.ts';
import type { MintedKey } from '../../application/keys/create-key.ts';
import { DamagedApiKey } from '../../application/keys/errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { apiKeyState } from '../../domain/api-key.ts';
import { type Config, InvalidConfig } from '../config/config.ts';

export type StartKeys = {
  /** Beside those in the storage. */
  readonly known: readonly KnownKey[];
  /** The one that was made for this start, to be shown to whoever started the service and to nobody else. */
  readonly made?: Omit<MintedKey, 'digest'>;
};

/**
 * The keys that the service begins with beside those in the storage: those of `API_KEYS`, or else, if there are none
 * anywhere, a new one. Nobody but this machine may reach a service with a key that is printed.
 *
 * @throws {InvalidConfig} when there is no key, and others could reach the service
 */
export async function startKeys(
  { API_KEYS, HOST, DATABASE_URL }: Pick<Config, 'API_KEYS' | 'HOST' | 'DATABASE_URL'>,
  stored: Pick<ApiKeyRepository, 'list'>,
  warn: (message: string) => void,
): Promise<StartKeys> {
  if (API_KEYS !== undefined) return { known: API_KEYS.map(knownKey) };
  const keys = await stored.list();
  if (keys.length > 0) {
    const now = new Date();
    // No first start: a door that somebody has closed is not opened again.
    if (keys.every((key) => key instanceof DamagedApiKey || apiKeyState(key, now) !== 'active')) {
      warn(`no API key is valid any more; run: ${CREATE_KEY}`);
    }
    return { known: [] };
  }
  if (!isLoopback(HOST)) {
    throw new InvalidConfig([
      DATABASE_URL === 'memory:'
        ? 'API_KEYS must be set when HOST is not a loopback address, because others can reach the service then'
        : `there is no API key yet, and others can reach the service when HOST is not a loopback address; run: ${CREATE_KEY}`,
    ]);
  }
  const { id, token } = mintKey();
  return { known: [knownKey({ id, label: 'start', token })], made: { id, token } };
}

/** What to type for a key that stays. */
export const CREATE_KEY = 'npm run petstore -- keys create --label NAME';

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
