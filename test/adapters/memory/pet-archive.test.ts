import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { petArchiveContract } from '../../contracts/pet-archive.ts';

petArchiveContract('memory', async () => {
  const store = new InMemoryPetRepository();
  return { archive: store, pets: store };
});
