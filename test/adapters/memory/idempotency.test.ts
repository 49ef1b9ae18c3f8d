import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { idempotencyContract } from '../../contracts/idempotency.ts';

idempotencyContract('memory', async (lastId) => ({ pets: new InMemoryPetRepository(lastId) }), {
  another: 'the pets live in the repository itself',
});
