import 'reflect-metadata';
import type { RequestListener } from 'node:http';
import { container, type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe';
import { createApp } from '../adapters/http/app.ts';
import type { RequestLog } from '../adapters/http/request-log.ts';
import { CreatePet } from '../application/pets/create-pet.ts';
import { GetPet } from '../application/pets/get-pet.ts';
import { ListPets } from '../application/pets/list-pets.ts';
import type { PetRepository } from '../application/ports/pet-repository.ts';
import type { StorageProbe } from '../application/ports/storage-probe.ts';
import type { RateLimiter } from '../application/ports/rate-limiter.ts';
import type { TokenVerifier } from '../application/ports/token-verifier.ts';
import type { RateLimit } from '../domain/api-key.ts';

/** What the container cannot make itself: it is open already, or it is a choice of whoever starts the service. */
export type Parts = {
  readonly pets: PetRepository;
  readonly probe: StorageProbe;
  readonly tokens: TokenVerifier;
  readonly log: RequestLog;
  readonly now: () => Date;
  readonly publicUrl: string | undefined;
  readonly limiter: RateLimiter;
  readonly rateLimit: RateLimit | undefined;
  readonly trustProxy: boolean;
  readonly corsOrigins: readonly string[];
  readonly isDraining: () => boolean;
};

function token<T>(name: string): InjectionToken<T> {
  return Symbol(name);
}

export const PARTS = token<Parts>('Parts');
export const LIST_PETS = token<ListPets>('ListPets');
export const CREATE_PET = token<CreatePet>('CreatePet');
export const GET_PET = token<GetPet>('GetPet');
export const APP = token<RequestListener>('App');

/** The composition root: the one place that says which use case gets which adapter. */
export function compose(parts: Parts): DependencyContainer {
  const root = container.createChildContainer();
  const provide = <T>(name: InjectionToken<T>, make: (c: DependencyContainer) => T) =>
    root.register(name, { useFactory: instanceCachingFactory(make) });

  root.register(PARTS, { useValue: parts });
  provide(LIST_PETS, (c) => new ListPets(c.resolve(PARTS).pets));
  provide(CREATE_PET, (c) => new CreatePet(c.resolve(PARTS).pets));
  provide(GET_PET, (c) => new GetPet(c.resolve(PARTS).pets));
  provide(APP, (c) =>
    createApp({
      ...c.resolve(PARTS),
      listPets: c.resolve(LIST_PETS),
      createPet: c.resolve(CREATE_PET),
      getPet: c.resolve(GET_PET),
    }),
  );
  return root;
}
