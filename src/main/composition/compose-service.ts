import 'reflect-metadata';
import { hash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { container, type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe';
import { type AppDependencies, createApp } from '../../adapters/http/app.ts';
import { oncePerSecond } from '../../application/ports/once-per-second.ts';
import { InMemoryRateLimiter } from '../../adapters/memory/rate-limiter.ts';
import type { Metrics } from '../../adapters/metrics/create-metrics.ts';
import { InMemoryTokenVerifier, type KnownKey } from '../../adapters/tokens/in-memory-token-verifier.ts';
import { tokenForm } from '../../adapters/tokens/token.ts';
import type { TraceUseCase } from '../../adapters/tracing/trace-calls.ts';
import { eitherTokenVerifier, StoredTokenVerifier } from '../../application/keys/token-verifiers.ts';
import { CreatePet } from '../../application/pets/create-pet.ts';
import { GetPet } from '../../application/pets/get-pet.ts';
import { ListPets } from '../../application/pets/list-pets.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import type { ServicePorts } from '../../application/ports/storage-kind.ts';
import type { TokenVerifier } from '../../application/ports/token-verifier.ts';
import type { Tracing } from '../tracing/open-tracing.ts';
import { measuredApp } from './measure.ts';

/** The injection tokens of tsyringe, one per part. */
const PETS: InjectionToken<PetRepository> = Symbol('PetRepository');
const KEYS: InjectionToken<ApiKeyRepository> = Symbol('ApiKeyRepository');
const LIMITER: InjectionToken<RateLimiter> = Symbol('RateLimiter');
const PROBE: InjectionToken<StorageProbe> = Symbol('StorageProbe');
const LIST_PETS: InjectionToken<Pick<ListPets, 'execute'>> = Symbol('ListPets');
const CREATE_PET: InjectionToken<Pick<CreatePet, 'execute'>> = Symbol('CreatePet');
const GET_PET: InjectionToken<Pick<GetPet, 'execute'>> = Symbol('GetPet');
const STORED_VERIFIER: InjectionToken<StoredTokenVerifier> = Symbol('StoredTokenVerifier');
const VERIFIER: InjectionToken<TokenVerifier> = Symbol('TokenVerifier');
const APP: InjectionToken<RequestListener> = Symbol('app');

/** The parts that {@link composeService} makes itself. */
type ComposedPart = 'listPets' | 'createPet' | 'getPet' | 'tokens' | 'limiter' | 'probe';

/** The parts that differ between a shop, a test and a program that embeds the service. */
export type Parts = Omit<AppDependencies, ComposedPart> & {
  /** If the storage has no limiter, the service uses a limiter in memory. */
  readonly storage: ServicePorts;
  /** Keys in addition to the stored keys. */
  readonly knownKeys: readonly KnownKey[];
  /** Replaces the verifiers of all keys. */
  readonly tokens?: TokenVerifier | undefined;
  readonly metrics?: Metrics | undefined;
  readonly tracing?: Pick<Tracing, 'storage' | 'useCase' | 'app'> | undefined;
};

/**
 * The composition root. Opens nothing, and starts nothing.
 *
 * @returns the HTTP application, and a function that writes the last uses of API keys to the storage
 */
export function composeService({ storage, knownKeys, tokens, now, metrics, tracing, ...settings }: Parts) {
  // The metrics measure the traced storage.
  const tracedStorage = tracing?.storage(storage) ?? storage;
  const limitedStorage = { ...tracedStorage, limiter: tracedStorage.limiter ?? new InMemoryRateLimiter() };
  const { pets, keys, limiter, probe } = metrics?.storage(limitedStorage) ?? limitedStorage;
  const root = container.createChildContainer();
  root.register(PETS, { useValue: pets }).register(KEYS, { useValue: keys });
  const check = oncePerSecond(() => probe.check(), { sharesFailures: true });
  root.register(LIMITER, { useValue: limiter }).register(PROBE, { useValue: { check } });

  const useCase: TraceUseCase = tracing?.useCase ?? ((_, untraced) => untraced);
  provide(root, LIST_PETS, (c) => useCase('ListPets', new ListPets(c.resolve(PETS))));
  provide(root, CREATE_PET, (c) => useCase('CreatePet', new CreatePet(c.resolve(PETS), sha256)));
  provide(root, GET_PET, (c) => useCase('GetPet', new GetPet(c.resolve(PETS))));

  const onRefusal = metrics?.onTokenRefused;
  provide(root, STORED_VERIFIER, (c) => new StoredTokenVerifier(c.resolve(KEYS), tokenForm, now, onRefusal));
  provide(root, VERIFIER, (c) => {
    const [known, stored] = [new InMemoryTokenVerifier(knownKeys), c.resolve(STORED_VERIFIER)];
    const verifier = tokens ?? (knownKeys.length > 0 ? eitherTokenVerifier(known, stored) : stored);
    return metrics?.tokens(verifier) ?? verifier;
  });

  provide(root, APP, (c) => {
    const app = createApp({
      ...settings,
      listPets: c.resolve(LIST_PETS),
      createPet: c.resolve(CREATE_PET),
      getPet: c.resolve(GET_PET),
      tokens: c.resolve(VERIFIER),
      limiter: c.resolve(LIMITER),
      probe: c.resolve(PROBE),
      now,
    });
    const withTraces = tracing?.app(app) ?? app;
    return metrics ? measuredApp(withTraces, metrics) : withTraces;
  });
  return { app: root.resolve(APP), recordUses: () => root.resolve(STORED_VERIFIER).recordUses() };
}

function provide<T>(
  root: DependencyContainer,
  token: InjectionToken<T>,
  make: (c: DependencyContainer) => T,
): void {
  root.register(token, { useFactory: instanceCachingFactory(make) });
}

const sha256 = (text: string): string => hash('sha256', text);
