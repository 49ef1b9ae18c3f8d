import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { petRepositoryModel } from '../../contracts/pet-repository-model.ts';

petRepositoryModel(
  'memory',
  async () => {
    const store = new InMemoryPetRepository();
    return { open: async () => ({ pets: store, archive: store }) };
  },
  { runs: 60, processes: 'one' },
);
