import { isIPv4 } from 'node:net';
import { type KnownKey, toKnownKey } from '../../adapters/tokens/in-memory-token-verifier.ts';
import { mintKey } from '../../adapters/tokens/token.ts';
import type { MintedKey } from '../../application/keys/create-key.ts';
import { DamagedApiKey } from '../../application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { apiKeyState } from '../../domain/api-key.ts';
import { PROGRAM } from '../config/build.ts';
import { type Config, StartError } from '../config/config.ts';

type Context = {
  readonly now: () => Date;
  readonly log: Readonly<Record<'info' | 'warn', (message: string) => void>>;
  /** Whether standard error goes to a log, where a token must not be. */
  readonly isLogged?: boolean | undefined;
};

export type MadeKey = Omit<MintedKey, 'digest'> & { readonly label: string };

export type StartKeys = {
  /** Keys in addition to the stored keys. */
  readonly knownKeys: readonly KnownKey[];
  /** Only the person who started the service sees this key. */
  readonly madeKey?: MadeKey;
};

/**
 * See docs/explanation/keys-and-their-cache.md, "The first start". A new key is printed, so no other machine may
 * reach the service, and no log may keep the output.
 *
 * @throws {StartError} when there is no key and other machines could reach the service
 */
export async function startKeys(
  { apiKeys, host, storage }: Pick<Config, 'apiKeys' | 'host' | 'storage'>,
  storedKeys: Pick<ApiKeyRepository, 'list'>,
  { now, log, isLogged }: Context,
): Promise<StartKeys> {
  if (apiKeys !== undefined) return { knownKeys: apiKeys.map(toKnownKey) };
  const keys = await storedKeys.list();
  for (const key of keys) {
    // No request finds a key whose id is damaged.
    if (key instanceof DamagedApiKey) log.warn(`a damaged API key is refused; run petstore check: ${key.id}`);
  }
  if (keys.length > 0) {
    // A new key would undo a revocation or an expiry that an operator wants.
    if (keys.every((key) => key instanceof DamagedApiKey || apiKeyState(key, now()) !== 'active')) {
      log.warn(`no API key is valid now; run: ${CREATE_KEY}`);
    } else {
      log.info(
        `the API keys are in the storage, which knows only their digests; for another one run: ${CREATE_KEY}`,
      );
    }
    return { knownKeys: [] };
  }
  const advice = storage.kind.persistent ? `run: ${CREATE_KEY}` : 'set API_KEYS';
  if (!isLoopback(host)) {
    throw new StartError([
      `there is no API key yet, and HOST is no loopback address, so others can reach the service; ${advice}`,
    ]);
  }
  if (isLogged) {
    log.warn(`there is no API key yet; ${advice}`);
    return { knownKeys: [] };
  }
  const { id, token } = mintKey();
  const madeKey = { id, label: 'start', token };
  return { knownKeys: [toKnownKey(madeKey)], madeKey };
}

export const CREATE_KEY = `${PROGRAM} keys create --label NAME`;

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
