import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { cannotBeDamaged } from '../../contracts/damaged-pets.ts';
import { petRepositoryContract } from '../../contracts/pet-repository.ts';

cannotBeDamaged('memory', 'nothing outside of the process can change its pets');

petRepositoryContract('memory', async (lastId) => ({ pets: new InMemoryPetRepository(lastId) }), {
  another: 'the pets live in the repository itself',
});
