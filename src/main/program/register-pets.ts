import { hash } from 'node:crypto';
import type { DependencyContainer, InjectionToken } from 'tsyringe';
import type { TraceUseCase } from '../../adapters/tracing/trace-calls.ts';
import { CreatePet } from '../../application/pets/create-pet.ts';
import { GetPet } from '../../application/pets/get-pet.ts';
import { ListPets } from '../../application/pets/list-pets.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import { provide } from './compose.ts';

/** Given. */
export const PETS: InjectionToken<PetRepository> = Symbol('PETS');
/** Puts a span around each call of a use case. By default there are none. */
export const TRACE: InjectionToken<TraceUseCase> = Symbol('TRACE');
export const LIST_PETS: InjectionToken<Pick<ListPets, 'execute'>> = Symbol('LIST_PETS');
export const CREATE_PET: InjectionToken<Pick<CreatePet, 'execute'>> = Symbol('CREATE_PET');
export const GET_PET: InjectionToken<Pick<GetPet, 'execute'>> = Symbol('GET_PET');

export const sha256 = (text: string): string => hash('sha256', text);

export function registerPets(root: DependencyContainer): void {
  root.register(TRACE, { useValue: (_, useCase) => useCase });
  provide(root, LIST_PETS, (c) => c.resolve(TRACE)('ListPets', new ListPets(c.resolve(PETS))));
  provide(root, CREATE_PET, (c) => c.resolve(TRACE)('CreatePet', new CreatePet(c.resolve(PETS), sha256)));
  provide(root, GET_PET, (c) => c.resolve(TRACE)('GetPet', new GetPet(c.resolve(PETS))));
}
