import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { petRepositoryContract } from '../../contracts/pet-repository.ts';

petRepositoryContract('memory', async (lastId) => ({ pets: new InMemoryPetRepository(lastId) }), {
  another: 'the pets live in the repository itself',
});
