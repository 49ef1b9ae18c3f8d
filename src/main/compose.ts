import 'reflect-metadata';
import { hash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { container, instanceCachingFactory } from 'tsyringe';
import { createApp } from '../adapters/http/app.ts';
import type { RequestLog } from '../adapters/http/wire/request-log.ts';
import { InMemoryRateLimiter } from '../adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, type KnownKey } from '../adapters/memory/token-verifier.ts';
import { StoredTokenVerifier } from '../adapters/tokens/stored-token-verifier.ts';
import { mintKey } from '../adapters/tokens/token.ts';
import { CheckSource } from '../application/moving/check-source.ts';
import { CheckStorage } from '../application/moving/check-storage.ts';
import { CreateKey, type MintedKey } from '../application/keys/create-key.ts';
import { EitherTokenVerifier } from '../application/keys/either-token-verifier.ts';
import { RevokeKey } from '../application/keys/revoke-key.ts';
import { RotateKey } from '../application/keys/rotate-key.ts';
import { ArchiveSource } from '../application/moving/archive-source.ts';
import { CopyKeys } from '../application/moving/copy-keys.ts';
import { CopyPets } from '../application/moving/copy-pets.ts';
import { ExportPets } from '../application/moving/export-pets.ts';
import { SkipIds } from '../application/moving/skip-ids.ts';
import { CreatePet, fingerprintOf } from '../application/pets/create-pet.ts';
import { GetPet } from '../application/pets/get-pet.ts';
import { ListPets } from '../application/pets/list-pets.ts';
import type { ApiKeyRepository } from '../application/ports/api-key-repository.ts';
import type { PetArchive, ReadablePetArchive } from '../application/ports/pet-archive.ts';
import type { PetRepository } from '../application/ports/pet-repository.ts';
import type { PetSource } from '../application/ports/pet-source.ts';
import type { RateLimiter } from '../application/ports/rate-limiter.ts';
import type { StorageProbe } from '../application/ports/storage-probe.ts';
import type { StorageInspector } from '../application/ports/storage-inspector.ts';
import type { TokenRefusal, TokenVerifier } from '../application/ports/token-verifier.ts';
import { SharedProbe } from '../application/readiness/shared-probe.ts';
import type { Config } from './config/config.ts';

/** Everything that the service and the commands are made of. Each name is a token of the container. */
export type Parts = {
  // What an open storage provides.
  pets: PetRepository;
  keys: ApiKeyRepository;
  probe: StorageProbe;
  archive: PetArchive;
  // The storage that pets and keys are copied or exported from, or that is checked.
  sourceArchive: ReadablePetArchive;
  sourceKeys: Pick<ApiKeyRepository, 'list'>;
  inspector: StorageInspector;

  // What the process provides.
  settings: Pick<Config, 'publicUrl' | 'trustProxy' | 'corsOrigins' | 'rateLimit'>;
  /** API keys in addition to those in the storage. */
  knownKeys: readonly KnownKey[];
  log: RequestLog;
  isDraining: () => boolean;
  /** Told about each token that the verifier of stored keys refuses. */
  onTokenRefused: (reason: TokenRefusal) => void;

  // What the container makes from them. A given part replaces the one made here.
  now: () => Date;
  mint: () => MintedKey;
  source: PetSource;
  limiter: RateLimiter;
  storedTokens: StoredTokenVerifier;
  tokens: TokenVerifier;
  listPets: Pick<ListPets, 'execute'>;
  createPet: Pick<CreatePet, 'execute'>;
  getPet: Pick<GetPet, 'execute'>;
  createKey: CreateKey;
  revokeKey: RevokeKey;
  rotateKey: RotateKey;
  checkSource: CheckSource;
  checkStorage: CheckStorage;
  copyPets: CopyPets;
  copyKeys: CopyKeys;
  exportPets: ExportPets;
  skipIds: SkipIds;
  app: RequestListener;
};

/** Makes a part on first use, and returns the same one from then on. */
export type Resolve = <Name extends keyof Parts>(name: Name) => Parts[Name];

/** Takes a part, and returns one that takes its place, such as one that measures it. */
export type Decorators = { readonly [Name in keyof Parts]?: (part: Parts[Name]) => Parts[Name] };

type Factories = { readonly [Name in keyof Parts]?: (resolve: Resolve) => Parts[Name] };

const sha256 = (text: string) => hash('sha256', text);

const FACTORIES = {
  now: () => () => new Date(),
  mint: () => mintKey,
  onTokenRefused: () => () => {},

  listPets: (resolve) => new ListPets(resolve('pets')),
  createPet: (resolve) => new CreatePet(resolve('pets'), sha256),
  getPet: (resolve) => new GetPet(resolve('pets')),

  createKey: (resolve) => new CreateKey(resolve('keys'), resolve('mint'), resolve('now')),
  revokeKey: (resolve) => new RevokeKey(resolve('keys'), resolve('now')),
  rotateKey: (resolve) => new RotateKey(resolve('keys'), resolve('createKey'), resolve('now')),

  checkSource: (resolve) => new CheckSource(resolve('source'), resolve('sourceKeys')),
  checkStorage: (resolve) =>
    new CheckStorage(
      { archive: resolve('sourceArchive'), keys: resolve('sourceKeys'), inspector: resolve('inspector') },
      (pet) => fingerprintOf(pet, sha256),
    ),
  source: (resolve) => new ArchiveSource(resolve('sourceArchive')),
  copyPets: (resolve) => new CopyPets(resolve('source'), resolve('archive')),
  copyKeys: (resolve) => new CopyKeys(resolve('sourceKeys'), resolve('keys')),
  exportPets: (resolve) => new ExportPets(resolve('sourceArchive')),
  skipIds: (resolve) => new SkipIds(resolve('archive')),

  limiter: () => new InMemoryRateLimiter(),
  storedTokens: (resolve) =>
    new StoredTokenVerifier(resolve('keys'), resolve('now'), resolve('onTokenRefused')),
  tokens: (resolve) => {
    const known = resolve('knownKeys');
    const stored = resolve('storedTokens');
    return known.length === 0 ? stored : new EitherTokenVerifier(new InMemoryTokenVerifier(known), stored);
  },
  app: (resolve) => {
    const { publicUrl, trustProxy, corsOrigins, rateLimit } = resolve('settings');
    return createApp({
      publicUrl,
      trustProxy,
      corsOrigins,
      rateLimit,
      listPets: resolve('listPets'),
      createPet: resolve('createPet'),
      getPet: resolve('getPet'),
      tokens: resolve('tokens'),
      limiter: resolve('limiter'),
      probe: new SharedProbe(resolve('probe')),
      log: resolve('log'),
      now: resolve('now'),
      isDraining: resolve('isDraining'),
    });
  },
} satisfies Factories;

/**
 * The composition root: the only place that says which use case gets which adapter, for the service, for every
 * command and for the tests.
 *
 * @param given what the caller has opened or chosen. Resolving a part that is neither given nor made here throws
 * @param decorators wrap parts that are given or made here, the first one innermost
 */
export function compose(given: Partial<Parts>, ...decorators: readonly Decorators[]): Resolve {
  const root = container.createChildContainer();
  const resolve: Resolve = (name) => root.resolve(name);
  const byName: readonly Readonly<Record<string, ((part: never) => unknown) | undefined>>[] = decorators;
  const decorate = (name: string, bare: unknown) =>
    byName.reduce(
      (part, { [name]: decorator }) => (decorator === undefined ? part : decorator(part as never)),
      bare,
    );
  for (const [name, make] of Object.entries<(resolve: Resolve) => unknown>(FACTORIES)) {
    root.register(name, { useFactory: instanceCachingFactory(() => decorate(name, make(resolve))) });
  }
  // The container resolves what was registered last.
  for (const [name, part] of Object.entries(given)) root.register(name, { useValue: decorate(name, part) });
  return resolve;
}
