import type { RequestListener } from 'node:http';
import type { DependencyContainer, InjectionToken } from 'tsyringe';
import { type AppDependencies, createApp } from '../../adapters/http/app.ts';
import { sharedProbe } from '../../adapters/http/shared-probe.ts';
import { InMemoryRateLimiter } from '../../adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, type KnownKey } from '../../adapters/tokens/in-memory-token-verifier.ts';
import { tokenForm } from '../../adapters/tokens/token.ts';
import { eitherTokenVerifier, StoredTokenVerifier } from '../../application/keys/token-verifiers.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { TokenRefusal, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { provide } from './compose.ts';
import { KEYS, NOW } from './register-keys.ts';
import { CREATE_PET, GET_PET, LIST_PETS } from './register-pets.ts';

type Made = 'listPets' | 'createPet' | 'getPet' | 'tokens' | 'limiter' | 'now';

/** Given: settings, and what the process and the storage provide. */
export const SETTINGS: InjectionToken<Omit<AppDependencies, Made>> = Symbol('SETTINGS');
/** Given: API keys in addition to those in the storage. */
export const KNOWN_KEYS: InjectionToken<readonly KnownKey[]> = Symbol('KNOWN_KEYS');
/** Told about each token that the verifier of stored keys refuses. */
export const ON_TOKEN_REFUSED: InjectionToken<(reason: TokenRefusal) => void> = Symbol('ON_TOKEN_REFUSED');
export const LIMITER: InjectionToken<RateLimiter> = Symbol('LIMITER');
export const TOKENS: InjectionToken<TokenVerifier> = Symbol('TOKENS');
export const APP: InjectionToken<RequestListener> = Symbol('APP');

/** The HTTP application. It needs the subjects pets and keys. */
export function registerHttp(root: DependencyContainer): void {
  root.register(ON_TOKEN_REFUSED, { useValue: () => {} });
  provide(root, LIMITER, () => new InMemoryRateLimiter());
  provide(root, StoredTokenVerifier, (c) => {
    return new StoredTokenVerifier(c.resolve(KEYS), tokenForm, c.resolve(NOW), c.resolve(ON_TOKEN_REFUSED));
  });
  provide(root, TOKENS, (c) => {
    const [known, stored] = [c.resolve(KNOWN_KEYS), c.resolve(StoredTokenVerifier)];
    return known.length === 0 ? stored : eitherTokenVerifier(new InMemoryTokenVerifier(known), stored);
  });
  provide(root, APP, (c) => {
    const { probe, ...settings } = c.resolve(SETTINGS);
    return createApp({
      ...settings,
      probe: sharedProbe(probe),
      listPets: c.resolve(LIST_PETS),
      createPet: c.resolve(CREATE_PET),
      getPet: c.resolve(GET_PET),
      tokens: c.resolve(TOKENS),
      limiter: c.resolve(LIMITER),
      now: c.resolve(NOW),
    });
  });
}
