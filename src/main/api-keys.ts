import { randomBytes } from 'node:crypto';
import { type KnownKey, knownKey } from '../adapters/memory/token-verifier.ts';
import type { Config } from './config.ts';

export type StartKeys = {
  readonly known: readonly KnownKey[];
  /** A key that was made for this start, to be shown to whoever started the service and to nobody else. */
  readonly made?: string;
};

/**
 * The keys that the service begins with: those of `API_KEYS`, or else a new one. A {@link Config} without keys is
 * one that only this machine can reach.
 */
export function startKeys({ API_KEYS }: Pick<Config, 'API_KEYS'>): StartKeys {
  if (API_KEYS !== undefined) {
    return { known: API_KEYS.map(knownKey) };
  }
  const made = randomBytes(24).toString('base64url');
  return { known: [knownKey({ label: 'start', key: made })], made };
}
