import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { apiKeyRepositoryModel } from '../../contracts/api-key-repository-model.ts';

apiKeyRepositoryModel(
  'memory',
  async () => {
    const keys = new InMemoryApiKeyRepository();
    return { open: async () => ({ keys }) };
  },
  { runs: 60, processes: 'one' },
);
