import { isIPv4 } from 'node:net';
import { type KnownKey, knownKey } from '../../adapters/tokens/in-memory-token-verifier.ts';
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
  /** Whether standard error is a log. */
  readonly isLogged?: boolean | undefined;
};

/** An API key that the service has made for itself. */
export type MadeKey = Omit<MintedKey, 'digest'> & { readonly label: string };

export type StartKeys = {
  /** The keys in addition to those in the storage. */
  readonly known: readonly KnownKey[];
  /** The key that was made for this start. Shown only to the person who started the service. */
  readonly made?: MadeKey;
};

/**
 * The keys in addition to those in the storage: those of `API_KEYS`, or a new one if there is no key at all. A new key
 * is printed, so one is made only if no other machine can reach the service, and if no log keeps the print.
 *
 * @throws {StartError} when there is no key and others could reach the service
 * @throws {StorageUnavailable}
 */
export async function startKeys(
  { apiKeys, host, storage }: Pick<Config, 'apiKeys' | 'host' | 'storage'>,
  stored: Pick<ApiKeyRepository, 'list'>,
  { now, log, isLogged }: Context,
): Promise<StartKeys> {
  if (apiKeys !== undefined) return { known: apiKeys.map(knownKey) };
  const keys = await stored.list();
  for (const key of keys) {
    // Its id may be damaged too, and then no request with the key finds it.
    if (key instanceof DamagedApiKey) log.warn(`a stored API key is damaged and never valid: ${key.id}`);
  }
  if (keys.length > 0) {
    // No new key here: it would undo what an operator has revoked or let expire.
    if (keys.every((key) => key instanceof DamagedApiKey || apiKeyState(key, now()) !== 'active')) {
      log.warn(`no API key is valid now; run: ${CREATE_KEY}`);
    } else {
      log.info(
        `the API keys are in the storage, which knows only their digests; for another one run: ${CREATE_KEY}`,
      );
    }
    return { known: [] };
  }
  const advice = storage.kind.persistent ? `run: ${CREATE_KEY}` : 'set API_KEYS';
  if (!isLoopback(host)) {
    throw new StartError([
      `there is no API key yet, and HOST is no loopback address, so others can reach the service; ${advice}`,
    ]);
  }
  if (isLogged) {
    log.warn(`there is no API key yet; ${advice}`);
    return { known: [] };
  }
  const { id, token } = mintKey();
  const made = { id, label: 'start', token };
  return { known: [knownKey(made)], made };
}

/** The command that creates a key in the storage. */
export const CREATE_KEY = `${PROGRAM} keys create --label NAME`;

/** Whether only this machine can reach a service with this `HOST`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
