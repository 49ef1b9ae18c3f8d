import { idempotencyContract } from '../../contracts/idempotency.ts';
import { petsAfter } from '../../support/archived-pets.ts';

idempotencyContract('memory', async (lastId) => ({ pets: await petsAfter(lastId) }), {
  another: 'the repository is the store',
});
