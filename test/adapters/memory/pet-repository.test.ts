import { cannotBeDamaged } from '../../contracts/damaged-pets.ts';
import { petRepositoryContract } from '../../contracts/pet-repository.ts';
import { petsAfter } from '../../support/archived-pets.ts';

cannotBeDamaged('memory', 'nothing outside the process can change its pets');

petRepositoryContract('memory', async (lastId) => ({ pets: await petsAfter(lastId) }), {
  another: 'the repository is the store',
});
