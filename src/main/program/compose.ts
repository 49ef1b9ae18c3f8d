import 'reflect-metadata';
import { hash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { container, instanceCachingFactory } from 'tsyringe';
import { createApp } from '../../adapters/http/app.ts';
import type { RequestLog } from '../../adapters/http/contract/request-log.ts';
import { InMemoryRateLimiter } from '../../adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, type KnownKey } from '../../adapters/tokens/in-memory-token-verifier.ts';
import { mintKey, tokenForm } from '../../adapters/tokens/token.ts';
import { CreateKey, type MintedKey } from '../../application/keys/create-key.ts';
import { RotateKey } from '../../application/keys/rotate-key.ts';
import { GetKey, ListKeys, RevokeKey } from '../../application/keys/stored-keys.ts';
import { eitherTokenVerifier, StoredTokenVerifier } from '../../application/keys/token-verifiers.ts';
import { ArchiveSource } from '../../application/maintenance/archive-source.ts';
import { CopyKeys } from '../../application/maintenance/copy-keys.ts';
import { CopyPets } from '../../application/maintenance/copy-pets.ts';
import { ExportPets } from '../../application/maintenance/export-pets.ts';
import { SkipIds } from '../../application/maintenance/skip-ids.ts';
import { CreatePet, fingerprintOf } from '../../application/pets/create-pet.ts';
import { GetPet } from '../../application/pets/get-pet.ts';
import { ListPets } from '../../application/pets/list-pets.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetArchive, PetSource, ReadablePetArchive } from '../../application/ports/pet-archive.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageInspector, StorageProbe } from '../../application/ports/storage-health.ts';
import type { TokenRefusal, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { CheckStorage } from '../../application/maintenance/check-storage.ts';
import { sharedProbe } from '../../adapters/http/shared-probe.ts';
import type { Config } from '../config/config.ts';

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
  getKey: GetKey;
  listKeys: ListKeys;
  revokeKey: RevokeKey;
  rotateKey: RotateKey;
  checkStorage: CheckStorage;
  copyPets: CopyPets;
  copyKeys: CopyKeys;
  exportPets: ExportPets;
  skipIds: SkipIds;
  app: RequestListener;
};

type Name = keyof Parts;

type From<Names extends Name> = Pick<Parts, Names>;

type AppPart = 'settings' | (Name & keyof Parameters<typeof createApp>[0]);

const sha256 = (text: string) => hash('sha256', text);

/** The parts that are made here, each by a function whose parameter says from which others. */
const FACTORIES = {
  now: () => () => new Date(),
  mint: () => mintKey,
  onTokenRefused: () => () => {},

  listPets: ({ pets }: From<'pets'>) => new ListPets(pets),
  createPet: ({ pets }: From<'pets'>) => new CreatePet(pets, sha256),
  getPet: ({ pets }: From<'pets'>) => new GetPet(pets),

  createKey: ({ keys, mint, now }: From<'keys' | 'mint' | 'now'>) => new CreateKey(keys, mint, now),
  getKey: ({ keys }: From<'keys'>) => new GetKey(keys),
  listKeys: ({ keys }: From<'keys'>) => new ListKeys(keys),
  revokeKey: ({ keys, now }: From<'keys' | 'now'>) => new RevokeKey(keys, now),
  rotateKey: ({ keys, createKey, now }: From<'keys' | 'createKey' | 'now'>) =>
    new RotateKey(keys, createKey, now),

  source: ({ sourceArchive }: From<'sourceArchive'>) => new ArchiveSource(sourceArchive),
  checkStorage: (parts: From<'sourceArchive' | 'sourceKeys' | 'inspector'>) => {
    const { sourceArchive: archive, sourceKeys: keys, inspector } = parts;
    return new CheckStorage({ archive, keys, inspector }, (pet) => fingerprintOf(pet, sha256));
  },
  copyPets: ({ source, archive }: From<'source' | 'archive'>) => new CopyPets(source, archive),
  copyKeys: ({ sourceKeys, keys }: From<'sourceKeys' | 'keys'>) => new CopyKeys(sourceKeys, keys),
  exportPets: ({ sourceArchive }: From<'sourceArchive'>) => new ExportPets(sourceArchive),
  skipIds: ({ archive }: From<'archive'>) => new SkipIds(archive),

  limiter: () => new InMemoryRateLimiter(),
  storedTokens: ({ keys, now, onTokenRefused }: From<'keys' | 'now' | 'onTokenRefused'>) =>
    new StoredTokenVerifier(keys, tokenForm, now, onTokenRefused),
  tokens: ({ knownKeys, storedTokens }: From<'knownKeys' | 'storedTokens'>) =>
    knownKeys.length === 0
      ? storedTokens
      : eitherTokenVerifier(new InMemoryTokenVerifier(knownKeys), storedTokens),
  app: (parts: From<AppPart>) => {
    const { listPets, createPet, getPet, tokens, limiter, log, now, isDraining } = parts;
    const { publicUrl, trustProxy, corsOrigins, rateLimit } = parts.settings;
    const settings = { publicUrl, trustProxy, corsOrigins, rateLimit };
    const probe = sharedProbe(parts.probe);
    const useCases = { listPets, createPet, getPet };
    return createApp({ ...settings, ...useCases, tokens, limiter, probe, log, now, isDraining });
  },
} satisfies { readonly [N in Name]?: (parts: never) => Parts[N] };

type Factories = typeof FACTORIES;

/** What is missing among the given parts to make the part `N`. */
type Missing<N, Given> = N extends Given
  ? never
  : N extends keyof Factories
    ? Missing<keyof NonNullable<Parameters<Factories[N]>[0]>, Given>
    : Extract<N, Name>;

/** The names of the parts that are given for certain. */
type NamesIn<Given> = { [N in keyof Given]-?: undefined extends Given[N] ? never : N }[keyof Given];

/** What must be given to make the parts `Names`. Other parts may be given too. */
export type Needs<Names extends Name> = Pick<Parts, Missing<Names, never>> & Partial<Parts>;

/** The parts that can be made from the given ones. A part for which another is missing has no name here. */
export type Composed<Given> = {
  readonly [N in Name as Missing<N, NamesIn<Given>> extends never ? N : never]: Parts[N];
};

/** Takes a part, and returns one that takes its place, such as one that measures it. */
export type Decorators = { readonly [N in Name]?: (part: Parts[N]) => Parts[N] };

/**
 * The composition root: the only place that says which use case gets which adapter, for the service, for every
 * command and for the tests.
 *
 * @param given what the caller has opened or chosen
 * @param decorators wrap parts that are given or made here, the first one innermost
 * @returns makes each part on first use, and keeps it
 */
export function compose<Given extends Partial<Parts>>(
  given: Given,
  ...decorators: readonly Decorators[]
): Composed<Given> {
  const root = container.createChildContainer();
  const parts = new Proxy({} as Parts, { get: (_, name) => root.resolve<never>(name) });
  const byName: readonly Readonly<Record<string, ((part: never) => unknown) | undefined>>[] = decorators;
  const decorate = (name: string, bare: unknown) =>
    byName.reduce(
      (part, { [name]: decorator }) => (decorator === undefined ? part : decorator(part as never)),
      bare,
    );
  for (const [name, make] of Object.entries<(from: Parts) => unknown>(FACTORIES)) {
    root.register(name, { useFactory: instanceCachingFactory(() => decorate(name, make(parts))) });
  }
  // The container resolves what was registered last.
  for (const [name, part] of Object.entries(given)) root.register(name, { useValue: decorate(name, part) });
  return parts;
}
